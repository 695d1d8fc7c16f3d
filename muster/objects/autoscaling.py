"""ProvisioningRequest, `autoscaling.x-k8s.io/v1`: requests the entire capacity of a gang.

Source: k8s.io/autoscaler/cluster-autoscaler/apis.
"""

from muster.objects.meta import Condition, Object, View, is_true


class PodTemplateRef(View):
    name: str = ""


class RequestPodSet(View):
    pod_template_ref: PodTemplateRef = PodTemplateRef()
    count: int = 0


class ProvisioningRequestSpec(View):
    provisioning_class_name: str = ""
    parameters: dict[str, str] = {}
    pod_sets: tuple[RequestPodSet, ...] = ()


class ProvisioningRequestStatus(View):
    conditions: tuple[Condition, ...] = ()
    provisioning_class_details: dict[str, str] = {}


class ProvisioningRequest(Object):
    spec: ProvisioningRequestSpec = ProvisioningRequestSpec()
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()


# Ordered by progress: the last true condition is the state.
REQUEST_STATES = ("Accepted", "Provisioned", "BookingExpired", "CapacityRevoked", "Failed")


def request_state(request: ProvisioningRequest) -> str:
    """Returns the state of a request: the last of REQUEST_STATES that is true, else Pending."""
    true = [s for s in REQUEST_STATES if is_true(request.status.conditions, s)]
    return true[-1] if true else "Pending"
