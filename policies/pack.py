"""Turns rules into policies of Pulumi's engine, configured by the environment.

A configuration (config/<environment>.json) has a rule's enforcement level; `because`, the reason for it,
which is shown with every violation; `exempt`, names of exempt resources with reasons; and the parameters of
the rule's check and remediation. `environment` is added: the stack's environment.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pulumi_policy import (
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies.rule import Resource, ResourceRule, StackRule

TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
# Resources as the program declared them, by URN. While a cluster does not exist yet, the engine passes empty
# objects to stack policies in a preview; resource policies get complete ones, which are kept here.
Declared = dict[str, Resource]

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
CONFIG: dict[str, dict[str, Any]] = {"because": TEXT, "environment": TEXT, "exempt": TEXTS}


def policies(rules: Iterable[ResourceRule | StackRule]) -> list[Policy]:
    """Returns a policy per rule, named by its id."""
    declared: Declared = {}
    return [_policy(rule, declared) for rule in rules]


def _policy(rule: ResourceRule | StackRule, declared: Declared) -> Policy:
    shared: dict[str, Any] = {
        "name": rule.id,
        "description": f"{rule.description} ({rule.source})",
        "severity": Severity(rule.severity),
        "config_schema": PolicyConfigSchema({**CONFIG, **rule.parameters, **_remediation_config(rule)}),
    }
    if isinstance(rule, StackRule):
        return StackValidationPolicy(
            **shared, validate=lambda args, report: _check_stack(rule, args, report, declared)
        )
    return ResourceValidationPolicy(
        **shared,
        validate=lambda args, report: _check(rule, args, report, declared),
        remediate=_remediation(rule),
    )


def _remediation_config(rule: ResourceRule | StackRule) -> dict[str, dict[str, Any]]:
    return {"labels": TEXTS} if isinstance(rule, ResourceRule) and rule.remediation else {}


def _check(
    rule: ResourceRule, args: ResourceValidationArgs, report: ReportViolation, declared: Declared
) -> None:
    resource, config = _resource(args), args.get_config()
    declared[resource.urn] = resource
    if not rule.reads(resource.kind):
        return
    if reason := config.get("exempt", {}).get(resource.name):
        args.not_applicable(reason)
    for message in rule.messages(resource, config):
        report(_with_reason(message, config), None)


def _check_stack(
    rule: StackRule, args: StackValidationArgs, report: ReportViolation, declared: Declared
) -> None:
    config = args.get_config()
    in_order = sorted(args.resources, key=lambda each: each.urn)
    resources = [declared.get(each.urn) or _resource(each) for each in in_order]
    for resource, message in rule.violations(resources, config):
        if resource.name not in config.get("exempt", {}):
            report(_with_reason(message, config), resource.urn)


def _remediation(rule: ResourceRule) -> Any:
    """Returns the rule's remediation for pulumi_policy (which types it as awaitable only), or None."""
    if (change := rule.remediation) is None:
        return None

    def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        resource = _resource(args)
        changes = change(resource, args.get_config()) if rule.reads(resource.kind) else {}
        # Changed in place, because unknown and secret values cannot be copied.
        properties: Any = args.props
        for key, value in changes.items():
            properties[key] = value
        return args.props if changes else None

    return remediate


def _resource(checked: ResourceValidationArgs | PolicyResource) -> Resource:
    return Resource(checked.resource_type, checked.name, checked.props, checked.opts.protect, checked.urn)


def _with_reason(message: str, config: Mapping[str, Any]) -> str:
    because = config.get("because")
    return f"{message} (in this environment: {because})" if because else message
