"""Core objects: pods' status, namespaces, priority classes and runtime classes."""

from msgspec.structs import force_setattr

from muster.objects.meta import Condition, Object, View
from muster.objects.names import GROWTH_GATE, PLACED_ANNOTATIONS
from muster.objects.sharing import share_maps, share_strings

READY = "Ready"


class PodCondition(View):
    """The state of a pod's condition."""

    type: str = ""
    status: str = ""  # True | False | Unknown
    reason: str = ""

    def __post_init__(self) -> None:
        share_strings(self, "type", "status", "reason")


class PodStatus(View):
    """The phase of a pod, and its condition Ready. Other conditions are dropped, as the controller keeps all
    pods in memory."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()

    def __post_init__(self) -> None:
        ready = tuple(condition for condition in self.conditions if condition.type == READY)
        force_setattr(self, "conditions", ready)


class SchedulingGate(View):
    """A gate that keeps the scheduler from placing the pod."""

    name: str = ""


class PodScheduling(View):
    """The scheduling gates of a pod, and the labels of the nodes that it may run on."""

    scheduling_gates: tuple[SchedulingGate, ...] = ()
    node_selector: dict[str, str] | None = None


_UNGATED = PodScheduling()
_AWAITS_GROWTH = PodScheduling(scheduling_gates=(SchedulingGate(name=GROWTH_GATE),))


class Pod(Object):
    """A pod, with what decisions need of it: the node selector only of pods that were placed in a topology,
    as the controller keeps all pods in memory."""

    spec: PodScheduling = _UNGATED
    status: PodStatus = PodStatus()

    def __post_init__(self) -> None:
        spec = _UNGATED
        if any(gate.name == GROWTH_GATE for gate in self.spec.scheduling_gates):
            spec = _AWAITS_GROWTH
        elif self.spec.node_selector and not PLACED_ANNOTATIONS.isdisjoint(self.metadata.annotations):
            spec = PodScheduling(node_selector=self.spec.node_selector)
            share_maps(spec, "node_selector")
        force_setattr(self, "spec", spec)

    @property
    def awaits_growth(self) -> bool:
        """Returns whether the pod cannot start, as no quota was granted for it yet."""
        return self.spec is _AWAITS_GROWTH

    @property
    def holds_resources(self) -> bool:
        """Returns False for a terminated pod, which has released its resources."""
        return self.status.phase not in ("Succeeded", "Failed")

    @property
    def is_on_lost_node(self) -> bool:
        """Returns whether the pod's node no longer reports to the API server, so that its phase is
        outdated."""
        return any(reports_lost_node(condition) for condition in self.status.conditions)


def reports_lost_node(condition: PodCondition | Condition) -> bool:
    """Returns whether a condition of a pod shows that its node no longer reports to the API server.

    The node controller then sets Ready to False, without a reason (Kubernetes v1.36.3,
    pkg/controller/util/node: MarkPodsNotReady). A kubelet always gives one (pkg/kubelet/status:
    GeneratePodReadyCondition): pods may be unready for long while they run, such as Ray Serve's workers
    without replicas.
    """
    return (condition.type, condition.status, condition.reason) == (READY, "False", "")


class Namespace(Object):
    """A namespace with its labels."""


class Overhead(View):
    """The resources that a pod with the RuntimeClass needs in addition to its containers'."""

    pod_fixed: dict[str, str | int | float] = {}


class RuntimeClass(Object):
    """`node.k8s.io/v1`: the overhead of its pods."""

    overhead: Overhead = Overhead()


class PriorityClass(Object):
    """`scheduling.k8s.io/v1`"""

    value: int = 0
    global_default: bool = False
