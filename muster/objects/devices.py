"""`resource.k8s.io` (dynamic resource allocation): the parts of claims and device classes that decide how
many devices a pod gets."""

from muster.objects.meta import Object, View


class RequestedDevices(View):
    """Devices of a class: a request's only choice, or one of its alternatives."""

    device_class_name: str = ""
    allocation_mode: str = "ExactCount"  # ExactCount | All
    count: int = 1
    admin_access: bool | None = None


class DeviceRequest(View):
    """A request of a claim: devices of a class, or the first alternative that can be allocated."""

    name: str = ""
    exactly: RequestedDevices | None = None
    first_available: tuple[RequestedDevices, ...] = ()


class DeviceClaim(View):
    """The requests of a claim."""

    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(View):
    """The devices that a claim is for."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaimTemplateSpec(View):
    """The spec of the claims that are created from the template."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Object):
    """`resource.k8s.io/v1` ResourceClaimTemplate: a claim of its own for each pod that refers to it."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassSpec(View):
    """The extended resource whose requests devices of the class satisfy."""

    extended_resource_name: str | None = None


class DeviceClass(Object):
    """`resource.k8s.io/v1` DeviceClass: devices of a kind, selected by an administrator."""

    spec: DeviceClassSpec = DeviceClassSpec()
