"""Builders of live clusters, and of jobs that are not submitted yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import Configuration
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.live.state import ObservedState, live_state
from muster.live.submitted import Submitted, submitted
from muster.live.verdict import Verdict, verdict
from muster.objects.meta import rfc3339
from tests.simulation.manifests import local_stack
from tests.unit.controller.builders import NOW_MS, Body, admission, make_cluster, workload_body

RAY_JOB = {"apiVersion": "ray.io/v1", "kind": "RayJob"}


def since(kind: str, ago_s: float, status: bool = True, reason: str = "") -> Body:
    """A condition that has been so for this long."""
    condition = {"type": kind, "status": str(status), "reason": reason or kind, "message": "as before"}
    return {**condition, "lastTransitionTime": rfc3339(NOW_MS - round(1000 * ago_s))}


def running(of: Mapping[str, Any], ran_s: float = 60, **spec: Any) -> Body:
    """The Workload of a job that runs for this long."""
    body = workload_body(of)
    body["spec"] |= spec
    conditions = [since(kind, ran_s) for kind in ("QuotaReserved", "Admitted", "PodsReady")]
    body["status"] = {"conditions": conditions, "admission": admission(body)}
    return body


def finished(of: Mapping[str, Any], ran_s: float = 600, ago_s: float = 3_600) -> Body:
    """The Workload of a job that ended, and whose pods are deleted."""
    body = running(of, ran_s + ago_s)
    body["status"]["conditions"].append(since("Finished", ago_s, reason="Succeeded"))
    return {**body, "metadata": {**body["metadata"], "finalizers": []}}


def waiting(of: Mapping[str, Any], reason: str = "WaitingForQuota") -> Body:
    """The Workload of a job that was tried without success."""
    return {**workload_body(of), "status": {"conditions": [since("QuotaReserved", 5, False, reason)]}}


def cluster(*workloads: Body, check: bool = False, **kinds_of: Sequence[Body]) -> ClusterState:
    """The cluster of stack `local`; `kinds_of` replaces objects by the name of their kind."""
    replaced: dict[Kind[Any], Sequence[Body]] = {getattr(kinds, name): of for name, of in kinds_of.items()}
    return make_cluster({**local_stack(check=check), kinds.WORKLOADS: workloads, **replaced})


def tried(job: Mapping[str, Any], of: ClusterState) -> tuple[Verdict, ObservedState, Submitted]:
    verdict_result = submitted({**RAY_JOB, **job}, of, NOW_MS)
    state = live_state(verdict_result.cluster, Configuration(), NOW_MS)
    return verdict(state, verdict_result), state, verdict_result
