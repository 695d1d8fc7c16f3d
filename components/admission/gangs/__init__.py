"""Admission policies for queued gangs: they refuse edits that would keep a gang from being preempted.

One policy for creations and one for updates of each Ray kind.
"""

from components.admission.gangs.frozen import stays_suspendable
from components.admission.gangs.ownership import belongs_to_its_queue, ownership_variables, whole_deletion
from components.admission.gangs.shape import can_be_admitted, shape_variables
from components.admission.gangs.size import stays_as_admitted
from components.admission.ray import QUEUE_LABEL, RAY_KINDS, Engine, Policy, RayKind, asked_by_users

# Updates of metadata alone, such as the removal of a finalizer, must pass even if the spec is invalid.
CHANGED = "object.spec != oldObject.spec || object.metadata.?labels != oldObject.metadata.?labels"


def queued_gangs(engine: Engine) -> list[Policy]:
    each = [policy for kind in RAY_KINDS for policy in _policies(kind, engine)]
    return [*each, whole_deletion(engine)]


def _policies(kind: RayKind, engine: Engine) -> list[Policy]:
    belongs, shape = belongs_to_its_queue(kind, engine), can_be_admitted(kind)
    if_changed = {f"!variables.changed || ({rule})": message for rule, message in shape.items()}
    variables = ownership_variables() | shape_variables(kind)
    return [
        Policy(
            name=f"muster-queued-{kind.resource}-can-be-admitted",
            resources=(kind.resource,),
            operations=("CREATE",),
            rules=belongs | shape,
            label=QUEUE_LABEL,
            condition=asked_by_users(engine),
            variables=variables,
        ),
        Policy(
            name=f"muster-queued-{kind.resource}-stay-as-admitted",
            resources=(kind.resource,),
            operations=("UPDATE",),
            rules=stays_as_admitted(kind) | stays_suspendable(kind) | belongs | if_changed,
            label=QUEUE_LABEL,
            condition=asked_by_users(engine),
            variables=variables | {"changed": CHANGED},
        ),
    ]
