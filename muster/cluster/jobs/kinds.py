"""The kinds of jobs that Muster admits. A further kind is a module in this folder and an entry here."""

from collections.abc import Iterable, Mapping
from typing import Any

from muster.cluster.jobs.batch_job import BATCH_JOB
from muster.cluster.jobs.job import Operator
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.jobset import JOB_SET
from muster.cluster.jobs.leaderworkerset import LEADER_WORKER_SET
from muster.cluster.jobs.raycluster import RAY_CLUSTER
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.cluster.jobs.rayservice import RAY_SERVICE
from muster.kube.kinds import Kind

JOB_KINDS: tuple[JobKind, ...] = (
    RAY_JOB,
    RAY_CLUSTER,
    RAY_SERVICE,
    BATCH_JOB,
    JOB_SET,
    LEADER_WORKER_SET,
)
BY_KIND: Mapping[Kind[Any], JobKind] = {job_kind.kind: job_kind for job_kind in JOB_KINDS}
BY_OWNER: Mapping[tuple[str, str], JobKind] = {
    kind.pod_controller[:2] if kind.pod_controller else (kind.kind.group, kind.kind.name): kind
    for kind in JOB_KINDS
}
"""The kinds by the group and kind of the owner references of their pods."""
OPERATORS: Mapping[Operator, tuple[JobKind, ...]] = {
    operator: tuple(job_kind for job_kind in JOB_KINDS if job_kind.operator == operator)
    for operator in dict.fromkeys(job_kind.operator for job_kind in JOB_KINDS)
}
RESOURCES: Mapping[str, tuple[str, ...]] = {
    group: tuple(job_kind.plural for job_kind in JOB_KINDS if job_kind.kind.group == group)
    for group in dict.fromkeys(job_kind.kind.group for job_kind in JOB_KINDS)
}
"""The resources by API group, as RBAC names them."""
SCHEDULES = tuple(job_kind.schedule for job_kind in JOB_KINDS if job_kind.schedule is not None)
"""The kinds of objects that create jobs on a schedule."""


def alternatives() -> str:
    """Returns the kinds for a message, such as "RayJob, RayCluster or RayService"."""
    *names, last = map(str, BY_KIND)
    return f"{', '.join(names)} or {last}"


def kind_of(manifest: Mapping[str, Any]) -> Kind[Any] | None:
    """Returns the kind of a job's manifest; None for any other object."""
    named = (manifest.get("apiVersion"), manifest.get("kind"))
    return next((kind for kind in BY_KIND if (kind.api_version, kind.name) == named), None)


def listed(kinds: Iterable[Kind[Any]]) -> str:
    """Returns the kinds for a message, such as "RayJob, RayCluster of ray.io/v1"."""
    names: dict[str, list[str]] = {}
    for kind in kinds:
        names.setdefault(kind.api_version, []).append(kind.name)
    return "; ".join(f"{', '.join(of_version)} of {version}" for version, of_version in names.items())
