"""Finds Workloads by the names that users know: the names of their jobs."""

from muster.cluster.cluster_state import ClusterState
from muster.kube.kinds import WORKLOADS
from muster.live.observed import ObservationError
from muster.objects.kueue import Workload


def workload_named(name: str, namespace: str, cluster: ClusterState) -> Workload:
    """Returns the named Workload, or the newest Workload of a job. Raises: ObservationError."""
    kind, slash, name = name.partition("/")
    if not (kind and slash and name):
        raise ObservationError(f"{kind!r}: expected KIND/NAME, such as rayjob/train")
    inside = [w for w in cluster.workloads.values() if w.metadata.namespace == namespace]
    if kind.lower() in ("workload", "workloads"):
        matches = [w for w in inside if w.metadata.name == name]
    else:
        matches = [w for w in inside if _is_for(w, kind.lower(), name)]
    if not matches:
        jobs = sorted({job_name(w) for w in inside})
        listed = f"{', '.join(jobs[:10])}{', …' if len(jobs) > 10 else ''}" if jobs else "none"
        raise ObservationError(
            f"namespace {namespace} has no {WORKLOADS} of {kind}/{name}; expected one of: {listed}"
        )
    return max(matches, key=lambda w: (w.metadata.creation_timestamp, w.metadata.name))


def _is_for(workload: Workload, kind: str, name: str) -> bool:
    owner = workload.metadata.controller
    return owner is not None and owner.name == name and kind in (owner.kind.lower(), f"{owner.kind.lower()}s")


def job_name(workload: Workload) -> str:
    """Returns the job of a Workload as KIND/NAME; workload/NAME if it has no job."""
    owner = workload.metadata.controller
    return f"{owner.kind.lower()}/{owner.name}" if owner else f"workload/{workload.metadata.name}"
