"""ProvisioningRequest, `autoscaling.x-k8s.io/v1`: requests the entire capacity of a gang.

Source: k8s.io/autoscaler/cluster-autoscaler/apis.
"""

from muster.objects.meta import Condition, Object, View, is_true


class PodTemplateRef(View):
    """The PodTemplate of a pod set, in the request's namespace."""

    name: str = ""


class RequestPodSet(View):
    """A number of pods with the same template."""

    pod_template_ref: PodTemplateRef = PodTemplateRef()
    count: int = 0


class ProvisioningRequestSpec(View):
    """The pods that nodes are requested for, and the class that provisions them."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] = {}
    pod_sets: tuple[RequestPodSet, ...] = ()


class ProvisioningRequestStatus(View):
    """The progress of the request, and details of its class."""

    conditions: tuple[Condition, ...] = ()
    provisioning_class_details: dict[str, str] = {}


class ProvisioningRequest(Object):
    """A request for the nodes of a gang."""

    spec: ProvisioningRequestSpec = ProvisioningRequestSpec()
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()


# Ordered by progress: the last true condition is the state.
REQUEST_STATES = ("Accepted", "Provisioned", "BookingExpired", "CapacityRevoked", "Failed")


def request_state(request: ProvisioningRequest) -> str:
    """Returns the state of a request: the last of REQUEST_STATES that is true, else Pending."""
    true = [s for s in REQUEST_STATES if is_true(request.status.conditions, s)]
    return true[-1] if true else "Pending"
