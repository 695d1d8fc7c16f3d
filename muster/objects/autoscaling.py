"""ProvisioningRequest, `autoscaling.x-k8s.io/v1`: requests the entire capacity of a gang.

Source: k8s.io/autoscaler/cluster-autoscaler/apis.
"""

from muster.objects.meta import Condition, Object, View


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
