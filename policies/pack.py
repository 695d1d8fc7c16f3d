"""Rules as policies of Pulumi's engine, with what an environment's configuration says of each.

A configuration (config/<environment>.json) gives a rule's enforcement level and `because`, the reason for
it, which is shown with every violation; `exempt`, reasons by the names of resources that the rule then leaves
alone; and where the rule can mend what it finds, what it needs for that.
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
# Resources as the program declared them, by URN. In the preview of a cluster that is not there yet the engine
# shows stack policies empty objects: its provider can't be asked. What resource policies saw is complete.
Declared = dict[str, Resource]

CONFIG: dict[str, dict[str, Any]] = {"because": {"type": "string", "minLength": 1}, "exempt": TEXTS}


def policies(rules: Iterable[ResourceRule | StackRule]) -> list[Policy]:
    """A policy a rule, of its id."""
    declared: Declared = {}
    return [_policy(rule, declared) for rule in rules]


def _policy(rule: ResourceRule | StackRule, declared: Declared) -> Policy:
    shared: dict[str, Any] = {
        "name": rule.id,
        "description": f"{rule.says} ({rule.source})",
        "severity": Severity(rule.severity),
        "config_schema": PolicyConfigSchema({**CONFIG, **_remedy_config(rule)}),
    }
    if isinstance(rule, StackRule):
        return StackValidationPolicy(
            **shared, validate=lambda args, report: _judge_stack(rule, args, report, declared)
        )
    return ResourceValidationPolicy(
        **shared,
        validate=lambda args, report: _judge(rule, args, report, declared),
        remediate=_mender(rule),
    )


def _remedy_config(rule: ResourceRule | StackRule) -> dict[str, dict[str, Any]]:
    return {"labels": TEXTS} if isinstance(rule, ResourceRule) and rule.remedy else {}


def _judge(
    rule: ResourceRule, args: ResourceValidationArgs, report: ReportViolation, declared: Declared
) -> None:
    resource, config = _resource(args), args.get_config()
    declared[resource.urn] = resource
    if resource.kind not in rule.kinds:
        return
    if reason := config.get("exempt", {}).get(resource.name):
        args.not_applicable(reason)
    for message in rule.check(resource):
        report(_with_reason(message, config), None)


def _judge_stack(
    rule: StackRule, args: StackValidationArgs, report: ReportViolation, declared: Declared
) -> None:
    config = args.get_config()
    in_order = sorted(args.resources, key=lambda each: each.urn)
    resources = [declared.get(each.urn) or _resource(each) for each in in_order]
    for resource, message in rule.check(resources):
        if resource.name not in config.get("exempt", {}):
            report(_with_reason(message, config), resource.urn)


def _mender(rule: ResourceRule) -> Any:
    """The remedy as a remediation (whose type pulumi_policy gives as awaitable only), or None."""
    if (remedy := rule.remedy) is None:
        return None

    def mend(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        resource = _resource(args)
        changes = remedy(resource, args.get_config()) if resource.kind in rule.kinds else {}
        # Changed in place: what is not known yet, or secret, can't be copied.
        properties: Any = args.props
        for key, value in changes.items():
            properties[key] = value
        return args.props if changes else None

    return mend


def _resource(seen: ResourceValidationArgs | PolicyResource) -> Resource:
    return Resource(seen.resource_type, seen.name, seen.props, seen.opts.protect, seen.urn)


def _with_reason(message: str, config: Mapping[str, Any]) -> str:
    because = config.get("because")
    return f"{message} (in this environment: {because})" if because else message
