"""Priorities that a tenant may use, in the queue and for its pods.

A job without the label takes the priority of its pods' PriorityClass, and kube-scheduler preempts other pods
for pods of a high priority regardless of the label. So both are limited to the same names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from components.admission.accelerators import POD_OWNERS, PodOwner, creators_of
from components.admission.ray import (
    Engine,
    Policy,
    asked_by_users,
    is_trusted,
    queue_of,
    requests_of,
    users_of,
)
from components.admission.templates import template_variables
from components.queues.kai_policies import KAI_PRIORITY_LABEL
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.names import PRIORITY_LABEL
from settings.model.operators.kai import PRIORITY_PREFIX

DEFAULT_CLASS = "default"  # of jobs without a label, if the stack has it


@dataclass(frozen=True)
class PriorityNames:
    """The stack's WorkloadPriorityClasses, and the classes that a tenant may use, by namespace."""

    classes: tuple[str, ...] = ()
    tenants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def allowed_priorities(names: PriorityNames, engine: Engine) -> list[Policy]:
    """Returns the policies that restrict priority classes in namespaces: one for each kind of job, and of
    Kubernetes' own kinds with pods."""
    of_jobs = [_policy(kind, names, engine) for kind in JOB_KINDS]
    return [*of_jobs, *(_of_pods(owner, names, engine) for owner in POD_OWNERS)]


def limited(names: PriorityNames) -> dict[str, tuple[str, ...]]:
    """Returns the tenants that may not use every class of the stack."""
    return {namespace: mine for namespace, mine in names.tenants.items() if set(mine) != set(names.classes)}


def allowed(names: PriorityNames, prefix: str = "") -> str:
    """CEL for the list of names that the namespace of the request may use."""
    every = json.dumps([prefix + name for name in names.classes])
    some = {tenant: [prefix + name for name in mine] for tenant, mine in limited(names).items()}
    return f"{json.dumps(some)}[?request.namespace].orValue({every})" if some else every


def _policy(kind: JobKind, names: PriorityNames, engine: Engine) -> Policy:
    classes = "filter(t, t.?spec.?priorityClassName.hasValue()).map(t, t.spec.priorityClassName)"
    choice = f"one of {', '.join(names.classes) or 'none'}, as far as muster:tenants[].priorities allows"
    rules = {
        'variables.podClasses.all(c, c == "" || c in variables.allowedOfPods) || '
        '(request.operation == "UPDATE" && variables.podClasses == variables.oldPodClasses)': (
            "priorityClassName of a pod template must be one that this namespace may use: remove it, and "
            f"set the label {PRIORITY_LABEL} with {choice}"
        ),
    }
    if limited(names):
        rules[_label_rule(names)] = (
            f"the label {PRIORITY_LABEL} must name a priority that this namespace may use: {choice}"
        )
    if engine == "kai":
        rules |= _kai_rules()
    # In tenants also without a queue: pods outside all queues preempt others too.
    tenants = json.dumps(list(names.tenants))
    concerned = f'{queue_of("object")} != "" || request.namespace in {tenants}'
    return Policy(
        name=f"muster-{kind.plural}-have-allowed-priorities",
        **requests_of(kind),
        operations=("CREATE", "UPDATE"),
        rules=rules,
        condition=f"({asked_by_users(engine, kind.operator)}) && ({concerned})",
        exempt_operators=users_of(kind),
        variables=template_variables(kind)
        | {
            "allowed": allowed(names),
            "allowedOfPods": allowed(names, _prefix(engine)),
            "podClasses": f"variables.templates.{classes}",
            "oldPodClasses": f"variables.oldTemplates.{classes}",
        },
    )


def _of_pods(owner: PodOwner, names: PriorityNames, engine: Engine) -> Policy:
    """Returns the policy for objects that no queue admits. The API server sets the cluster's default class in
    pods before their validation, so of classes that the stack does not know a pod may have all but those of
    the system; other templates have only what users wrote."""
    path = f"{owner.template}.?spec.?priorityClassName"
    new, old = (f'{path.replace("object", root, 1)}.orValue("")' for root in ("object", "oldObject"))
    ours = json.dumps([_prefix(engine) + name for name in names.classes])
    default = f' || !({new} in {ours} || {new}.startsWith("system-"))' if owner.plural == "pods" else ""
    unchanged = f'(request.operation == "UPDATE" && {new} == {old})'
    return Policy(
        name=f"muster-{owner.plural}-have-allowed-priorities",
        group=owner.group,
        resources=(owner.plural,),
        operations=("CREATE",) if owner.plural == "pods" else ("CREATE", "UPDATE"),
        rules={
            f'{new} == "" || {new} in variables.allowedOfPods{default} || {unchanged}': (
                f"priorityClassName of this {owner.name} must be one that this namespace may use, as its "
                "pods would preempt those of jobs with quota: remove it"
            )
        },
        condition=f"!({is_trusted(engine)}) && request.namespace in {json.dumps(list(names.tenants))}",
        exempt_operators=creators_of(owner),
        variables={"allowedOfPods": allowed(names, _prefix(engine))},
    )


def _prefix(engine: Engine) -> str:
    """Returns what the PriorityClasses of pods have before the names of the stack's classes."""
    return PRIORITY_PREFIX if engine == "kai" else ""


def _kai_rules() -> dict[str, str]:
    """Rules for KAI's priority labels on the object, which are derived from Kueue's, and on pods."""
    label = f'metadata.?labels[?"{KAI_PRIORITY_LABEL}"].orValue("")'
    allowed_label = f'o.?{label} == "" || o.?{label} in variables.allowedOfPods'
    return {
        f"([object] + variables.templates).all(o, {allowed_label})": (
            f"the label {KAI_PRIORITY_LABEL} is derived from {PRIORITY_LABEL}: set that one"
        )
    }


def _label_rule(names: PriorityNames) -> str:
    """CEL for the label. If a tenant may use all classes, the engine reports an unknown name with a list."""
    unlabelled = DEFAULT_CLASS if DEFAULT_CLASS in names.classes else ""
    name = f'metadata.?labels[?"{PRIORITY_LABEL}"].orValue("{unlabelled}")'
    return (
        f'{queue_of("object")} == "" || !(request.namespace in {json.dumps(list(limited(names)))}) || '
        f'object.{name} == "" || object.{name} in variables.allowed || '
        f'(request.operation == "UPDATE" && object.{name} == oldObject.{name})'
    )
