"""Relates admission checks to their ProvisioningRequests: names, attempts and pod sets.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2.
"""

import hashlib
from collections.abc import Iterator

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import assignment_of
from muster.controller.provisioning.pod_set_groups import PodSetGroup, grouped
from muster.objects import kueue, workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, PodSet, WorkloadStatus
from muster.objects.kueue_checks import ProvisioningRequestConfig
from muster.objects.meta import is_true
from muster.objects.names import PROVISIONING_CONTROLLER
from muster.objects.pods import read_template

NAME_PREFIX_LENGTH_MAX = 247
HASH_LENGTH = 5


def _limited(name: str) -> str:
    """Truncates a name that is too long, though not after a dot, and appends five characters of its hash to
    keep it unique."""
    if len(name) <= NAME_PREFIX_LENGTH_MAX:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:NAME_PREFIX_LENGTH_MAX].rstrip('.')}-{digest[:HASH_LENGTH]}"


def request_name(workload: str, check: str, attempt: int) -> str:
    """Returns the name of the ProvisioningRequest of an attempt, as Kueue names it."""
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """Returns the name of the PodTemplate of a request's pod set, as Kueue names it."""
    return _limited(f"ppt-{request}-{pod_set}")


def attempt_of(request: ProvisioningRequest, workload: str, state: AdmissionCheckState) -> int | None:
    """Returns the attempt of this check that the request belongs to; None if it belongs to another check.
    (For a truncated name, only the current attempt is recognized, as the hash has replaced the number.)"""
    name, current = request.metadata.name, state.retry_count + 1
    if name == request_name(workload, state.name, current):
        return current
    prefix = f"{workload}-{state.name}-"
    number = name.removeprefix(prefix)
    return int(number) if number != name and number.isascii() and number.isdecimal() else None


def managed_checks(
    status: WorkloadStatus, cluster: ClusterState
) -> Iterator[tuple[AdmissionCheckState, ProvisioningRequestConfig | None]]:
    """Yields the workload's provisioning checks, each with its config; None if the config is missing."""
    for state in status.admission_checks:
        check = cluster.checks.get(state.name)
        if check is not None and check.spec.controller_name == PROVISIONING_CONTROLLER:
            name = check.spec.parameters.name if check.spec.parameters else ""
            yield state, cluster.provisioning_configs.get(name)


def pod_sets_managed(workload: kueue.Workload, config: ProvisioningRequestConfig) -> Iterator[PodSet]:
    """Yields the pod sets that request a managed resource; all pod sets if the config names no resources."""
    managed = set(config.spec.managed_resources)
    for pod_set in workload.spec.pod_sets:
        if pod_set.count > 0 and (not managed or managed & _resources_of(pod_set)):
            yield pod_set


def _resources_of(pod_set: PodSet) -> set[str]:
    spec = read_template(pod_set.template).spec
    containers = (*spec.init_containers, *spec.containers)
    return {name for c in containers for name in (*c.resources.requests, *c.resources.limits)}


def admitted_count(workload: kueue.Workload, pod_set: PodSet) -> int:
    """Returns the number of admitted pods. Raises: PlacementError if the admission has no such pod set."""
    count = assignment_of(workload, pod_set).count
    return pod_set.count if count is None else count


def is_needed(workload: kueue.Workload, config: ProvisioningRequestConfig) -> bool:
    """Returns whether any admitted pod needs the check's capacity. Raises: PlacementError."""
    return any(admitted_count(workload, ps) > 0 for ps in pod_sets_managed(workload, config))


def groups_of(workload: kueue.Workload, config: ProvisioningRequestConfig) -> list[PodSetGroup]:
    """Returns the groups of pod sets to request, merged by the config's policy. Raises: PlacementError."""
    managed = list(pod_sets_managed(workload, config))
    counts = {ps.name: admitted_count(workload, ps) for ps in managed}
    return grouped(counts, [ps for ps in managed if counts[ps.name] > 0], config.spec.pod_set_merge_policy)


def latest_request(
    workload: kueue.Workload,
    state: AdmissionCheckState,
    config: ProvisioningRequestConfig,
    cluster: ClusterState,
) -> ProvisioningRequest | None:
    """Returns the request of the check's last attempt. Ignores requests that differ from the current config
    or are being deleted."""
    existing = (r for r in cluster.requests_of(workload) if not r.metadata.deletion_timestamp)
    matching = (r for r in existing if _matches(r, config))
    attempts = ((attempt_of(r, workload.metadata.name, state), r) for r in matching)
    numbered = [(attempt, request) for attempt, request in attempts if attempt is not None]
    return max(numbered, key=lambda pair: pair[0])[1] if numbered else None


def _matches(request: ProvisioningRequest, config: ProvisioningRequestConfig) -> bool:
    same_class = request.spec.provisioning_class_name == config.spec.provisioning_class_name
    return same_class and config.spec.parameters.items() <= request.spec.parameters.items()


def has_failed(request: ProvisioningRequest, status: WorkloadStatus) -> bool:
    """Returns whether the request must be replaced. An expired booking is a failure only before admission."""
    conditions = request.status.conditions
    expired = is_true(conditions, "BookingExpired") and not workload_status.is_admitted(status)
    return is_true(conditions, "Failed") or expired
