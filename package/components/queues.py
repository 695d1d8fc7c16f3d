"""Queues: their tree, their flavors, and the priorities of jobs."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from components.queues.queues import Priorities, PrioritiesArgs, QueuesArgs
from components.queues.queues import Queues as KueueQueues
from package.base import EXISTING, Exposed
from settings.model.base import Model
from settings.model.pools.machine_facts import MachineTypes
from settings.model.pools.pool import Pool
from settings.model.queues.admission import Admission, QueuedProvisioning
from settings.model.queues.devices import DeviceClassMapping
from settings.model.queues.queue import Queues as QueuesSettings
from settings.model.stack import Settings

_OF_ADMISSION = ("priorities", "queuedProvisioning", "deviceClasses", "uncountedDeviceClasses")


class QueuesInputs(Model):
    """The parts of a stack file that describe queues."""

    machine_types: MachineTypes = Field(default_factory=dict)
    """Machine types of pools that Muster does not know yet, as in RayCluster."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """The cluster's node pools, as in RayCluster; each becomes a flavor."""
    queues: QueuesSettings
    """Cohorts, and cluster queues with quotas by flavor."""
    priorities: dict[str, int] = Field(default_factory=dict)
    """WorkloadPriorityClasses: the name that jobs are labeled with, and its value."""
    queued_provisioning: QueuedProvisioning = Admission().queued_provisioning
    """Requests for nodes of queued pools."""
    device_classes: tuple[DeviceClassMapping, ...] = ()
    """The quota of devices that pods claim (dynamic resource allocation), as in muster:admission."""
    uncounted_device_classes: tuple[str, ...] = ()
    """DeviceClasses without quota, such as network interfaces."""


class QueuesOutputs(Model):
    """Names for tenants and jobs."""

    cluster_queues: tuple[str, ...]
    """Names of the cluster queues, for tenants' `queues`."""
    flavors: tuple[str, ...]
    """Names of the flavors."""
    priorities: tuple[str, ...]
    """Names of the priority classes, for jobs' labels."""


class Queues(Exposed):
    """ResourceFlavors, Cohorts, ClusterQueues and WorkloadPriorityClasses, in the cluster of the Kubernetes
    provider. Declare it after Controller, whose CRDs it needs."""

    inputs = QueuesInputs
    outputs = QueuesOutputs
    absent = frozenset({"controller"})
    places = {
        "admission.priorities": "priorities",
        "admission.queuedProvisioning": "queuedProvisioning",
        "admission.deviceClasses": "deviceClasses",
        "admission.uncountedDeviceClasses": "uncountedDeviceClasses",
    }

    def sections(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        sections = {key: inputs[key] for key in ("machineTypes", "pools", "queues") if key in inputs}
        admission = {key: inputs[key] for key in _OF_ADMISSION if key in inputs}
        return {**sections, "admission": admission, "cluster": EXISTING}

    def declare(self, settings: Settings, inputs: Mapping[str, Any]) -> dict[str, Any]:
        admission = settings.admission
        classes = Priorities("priorities", PrioritiesArgs(admission.priorities), self.child())
        args = QueuesArgs(
            settings.pools, settings.queues, admission.queued_provisioning, admission.device_quotas
        )
        queues = KueueQueues("queues", args, self.child())
        return {
            "clusterQueues": list(queues.cluster_queues),
            "flavors": sorted({pool.flavor_name for pool in settings.pools}),
            "priorities": list(classes.classes),
        }
