"""Kueue's AdmissionCheck, and the config of checks for provisioning.

Source of every field: Kueue apis/kueue/v1beta2 at v0.19.2.
"""

from msgspec.structs import replace

from muster.objects.kueue import AdmissionCheckState, WorkloadStatus
from muster.objects.meta import Condition, Object, View, rfc3339

PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"
"""The states of a Workload's admission checks."""


class ParametersRef(View):
    """The object with the parameters of a check."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(View):
    """The controller of a check, and its parameters."""

    controller_name: str = ""
    parameters: ParametersRef | None = None


class ConditionsStatus(View):
    """A status that consists of conditions."""

    conditions: tuple[Condition, ...] = ()


class AdmissionCheck(Object):
    """A check that must be Ready before workloads are admitted."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: ConditionsStatus = ConditionsStatus()


class RetryStrategy(View):
    """Kueue's defaults: three retries, 60 s doubling up to 30 minutes."""

    backoff_limit_count: int = 3
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 1800


class NodeSelectorUpdate(View):
    """A node selector whose value is a detail of the ProvisioningRequest."""

    key: str
    value_from_provisioning_class_detail: str = ""


class PodSetUpdates(View):
    """Changes of the pods' template after provisioning."""

    node_selector: tuple[NodeSelectorUpdate, ...] = ()


class ProvisioningRequestConfigSpec(View):
    """The class and the parameters of requests, their retries, and the pod sets that need nodes."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] = {}
    managed_resources: tuple[str, ...] = ()
    retry_strategy: RetryStrategy = RetryStrategy()
    pod_set_updates: PodSetUpdates | None = None
    pod_set_merge_policy: str | None = None


class ProvisioningRequestConfig(Object):
    """The parameters of a provisioning check."""

    spec: ProvisioningRequestConfigSpec = ProvisioningRequestConfigSpec()


def set_check(status: WorkloadStatus, name: str, now_ms: int, **changes: object) -> WorkloadStatus:
    """Returns the status with `changes` applied to one check; updates the transition time if the state
    changes."""

    def change(check: AdmissionCheckState) -> AdmissionCheckState:
        if check.name != name:
            return check
        new = replace(check, **changes)
        return new if new.state == check.state else replace(new, last_transition_time=rfc3339(now_ms))

    return replace(status, admission_checks=tuple(map(change, status.admission_checks)))
