"""Relates admission checks to their ProvisioningRequests: names, attempts and pod sets.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2.
"""

import hashlib

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import assignment_of
from muster.cluster.managed_checks import matches, pod_sets_managed
from muster.controller.provisioning.pod_set_groups import PodSetGroup, grouped
from muster.objects import kueue, workload_status
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, PodSet, WorkloadStatus
from muster.objects.kueue_checks import ProvisioningRequestConfig
from muster.objects.meta import is_true
from muster.objects.names import GROWTH_LABEL

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


def growth_request_name(workload: str, check: str, pod_set: str, number: int) -> str:
    """Returns the name of a ProvisioningRequest for growth of a pod set."""
    return _limited(f"{workload}-{check}-growth-{pod_set}-{number}")


def template_name(request: str, pod_set: str) -> str:
    """Returns the name of the PodTemplate of a request's pod set, as Kueue names it."""
    return _limited(f"ppt-{request}-{pod_set}")


def attempt_of(request: ProvisioningRequest, workload: str, state: AdmissionCheckState) -> int | None:
    """Returns the attempt of this check that the request belongs to; None if it belongs to another check or
    to growth. (For a truncated name, only the current attempt is recognized, as the hash has replaced the
    number.)"""
    name, current = request.metadata.name, state.retry_count + 1
    if GROWTH_LABEL in request.metadata.labels:
        return None
    if name == request_name(workload, state.name, current):
        return current
    prefix = f"{workload}-{state.name}-"
    number = name.removeprefix(prefix)
    return int(number) if number != name and number.isascii() and number.isdecimal() else None


def admitted_count(workload: kueue.Workload, pod_set: PodSet) -> int:
    """Returns the number of admitted pods of the gang; those by which it has grown have requests of their
    own. Raises: PlacementError if the admission has no such pod set."""
    count = assignment_of(workload, pod_set).count
    return pod_set.count if count is None else min(count, pod_set.count)


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
    matching = (r for r in existing if matches(r, config))
    attempts = ((attempt_of(r, workload.metadata.name, state), r) for r in matching)
    numbered = [(attempt, request) for attempt, request in attempts if attempt is not None]
    return max(numbered, key=lambda pair: pair[0])[1] if numbered else None


def has_failed(request: ProvisioningRequest, status: WorkloadStatus) -> bool:
    """Returns whether the request must be replaced. An expired booking is a failure only before admission."""
    conditions = request.status.conditions
    expired = is_true(conditions, "BookingExpired") and not workload_status.is_admitted(status)
    return is_true(conditions, "Failed") or expired
