"""The admission check of queued pools: how a gang's nodes are requested, and how its pods select them."""

from collections.abc import Sequence
from typing import Any

from muster.objects.names import (
    KUEUE_GROUP,
    PROVISIONING_CONTROLLER,
    QUEUED_PROVISIONING_CLASS,
    REQUEST_DETAIL,
    REQUEST_LABEL,
)
from settings.model.queues.admission import QueuedProvisioning

CHECK = "queued-provisioning"


def check() -> dict[str, Any]:
    """Returns the AdmissionCheck's spec."""
    parameters = {"apiGroup": KUEUE_GROUP, "kind": "ProvisioningRequestConfig", "name": CHECK}
    return {"controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}


def provisioning_request_config(
    provisioning: QueuedProvisioning, accelerators: Sequence[str]
) -> dict[str, Any]:
    """Returns the ProvisioningRequestConfig's spec; `accelerators` are resources of the queued pools."""
    retry = provisioning.retry
    spec: dict[str, Any] = {
        "provisioningClassName": QUEUED_PROVISIONING_CLASS,
        # GKE rejects requests for CPUs only: pod sets without accelerators (Ray's heads) are left out.
        "managedResources": list(accelerators),
        # GKE accepts one pod set a request; this merges worker groups with equal scheduling requirements.
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
        "retryStrategy": {
            "backoffLimitCount": retry.limit,
            "backoffBaseSeconds": retry.base_seconds,
            "backoffMaxSeconds": retry.max_seconds,
        },
        "podSetUpdates": {
            "nodeSelector": [{"key": REQUEST_LABEL, "valueFromProvisioningClassDetail": REQUEST_DETAIL}]
        },
    }
    if provisioning.max_run_seconds is not None:
        spec["parameters"] = {"maxRunDurationSeconds": str(provisioning.max_run_seconds)}
    return spec
