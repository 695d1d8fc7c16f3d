"""Devices of claims and their quota (dynamic resource allocation)."""

from typing import Annotated

from pydantic import Field

from settings.model.base import DnsSubdomain, Model, ResourceName


class DeviceClassMapping(Model):
    """DeviceClasses whose devices have the quota of a resource (Kueue: resources.deviceClassMappings).

    Each device counts as a whole, also a partition or a share of one."""

    name: ResourceName
    """The resource in `quotas` that counts the devices, such as nvidia.com/gpu."""
    device_class_names: Annotated[tuple[DnsSubdomain, ...], Field(min_length=1, max_length=8)]
    """The DeviceClasses, such as gpu.nvidia.com, for claims and for extended resources."""
