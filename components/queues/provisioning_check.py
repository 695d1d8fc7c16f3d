"""The admission check of queued pools: how a gang's nodes are requested, and how its pods select them."""

from collections.abc import Sequence
from typing import Any

from settings.model.queues.admission import QueuedProvisioning
from settings.model.queues.queue import PROVISIONING_CONTROLLER

GROUP = "kueue.x-k8s.io"
CHECK = "queued-provisioning"
PROVISIONING_CLASS = "queued-provisioning.gke.io"
# GKE labels a request's nodes; the label's value is this detail of the request's status.
REQUEST_LABEL, REQUEST_DETAIL = "autoscaling.gke.io/provisioning-request", "ResizeRequestName"


def check() -> dict[str, Any]:
    """Returns the AdmissionCheck's spec."""
    parameters = {"apiGroup": GROUP, "kind": "ProvisioningRequestConfig", "name": CHECK}
    return {"controllerName": PROVISIONING_CONTROLLER, "parameters": parameters}


def provisioning_request_config(
    provisioning: QueuedProvisioning, accelerators: Sequence[str]
) -> dict[str, Any]:
    """Returns the ProvisioningRequestConfig's spec; `accelerators` are resources of the queued pools."""
    retry = provisioning.retry
    spec: dict[str, Any] = {
        "provisioningClassName": PROVISIONING_CLASS,
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
