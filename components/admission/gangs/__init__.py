"""Admission policies for queued gangs: they refuse edits that would keep a gang from being preempted.

One policy for creations and one for updates of each kind of job.
"""

from components.admission.elastic_jobs import autoscaled_as_created
from components.admission.gangs.immutable_fields import immutable_fields
from components.admission.gangs.ownership import (
    cascading_deletions,
    kept_parts,
    ownership_rules,
    ownership_variables,
)
from components.admission.gangs.queue_managed_fields import queue_managed_fields
from components.admission.gangs.requirements import requirement_variables, requirements
from components.admission.ray import Engine, Policy, asked_by_users, requests_of, suspends, users_of
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.names import QUEUE_LABEL

# Updates of metadata alone, such as the removal of a finalizer, must pass even if the spec is invalid.
CHANGED = "object.spec != oldObject.spec || object.metadata.?labels != oldObject.metadata.?labels"


def queued_gangs(engine: Engine, autoscaled: bool) -> list[Policy]:
    """Returns the policies that protect queued jobs of each kind. `autoscaled`: the engine admits autoscaled
    ones."""
    kinds = [kind for kind in JOB_KINDS if suspends(engine, kind)]
    each = [policy for kind in kinds for policy in _policies(kind, engine, autoscaled)]
    parts = [policy for kind in JOB_KINDS for policy in kept_parts(kind, engine)]
    return [*each, *parts, *cascading_deletions(engine)]


def _policies(kind: JobKind, engine: Engine, autoscaled: bool) -> list[Policy]:
    owned = ownership_rules(kind, engine)
    if kind.ray_cluster:
        owned |= autoscaled_as_created(kind, engine, autoscaled)
    required = requirements(kind, engine)
    if_changed = {f"!variables.changed || ({rule})": message for rule, message in required.items()}
    variables = ownership_variables(kind) | requirement_variables(kind)
    return [
        Policy(
            name=f"muster-queued-{kind.plural}-can-be-admitted",
            **requests_of(kind),
            operations=("CREATE",),
            rules=owned | required,
            label=QUEUE_LABEL,
            condition=asked_by_users(engine, kind.operator),
            exempt_operators=users_of(kind),
            variables=variables,
        ),
        Policy(
            name=f"muster-queued-{kind.plural}-stay-as-admitted",
            **requests_of(kind),
            operations=("UPDATE",),
            rules=queue_managed_fields(kind) | immutable_fields(kind) | owned | if_changed,
            label=QUEUE_LABEL,
            condition=asked_by_users(engine, kind.operator),
            exempt_operators=users_of(kind),
            variables=variables | {"changed": CHANGED},
        ),
    ]
