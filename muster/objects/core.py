"""Core objects: pods' status, namespaces, priority classes and runtime classes."""

from muster.objects.meta import Object, View
from muster.objects.sharing import share_strings


class PodCondition(View):
    type: str = ""
    status: str = ""  # True | False | Unknown
    reason: str = ""

    def __post_init__(self) -> None:
        share_strings(self, "type", "status", "reason")


class PodStatus(View):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(Object):
    status: PodStatus = PodStatus()

    @property
    def holds_resources(self) -> bool:
        """Returns False for a terminated pod, which has released its resources."""
        return self.status.phase not in ("Succeeded", "Failed")

    @property
    def is_on_lost_node(self) -> bool:
        """Returns whether the pod's node no longer reports to the API server, so that its phase is outdated.

        The node controller then sets Ready to False, without a reason (Kubernetes v1.36.3,
        pkg/controller/util/node: MarkPodsNotReady). A kubelet always gives one (pkg/kubelet/status:
        GeneratePodReadyCondition): pods may be unready for long while they run, such as Ray Serve's workers
        without replicas.
        """
        return any(
            (condition.type, condition.status, condition.reason) == ("Ready", "False", "")
            for condition in self.status.conditions
        )


class Namespace(Object):
    pass


class Overhead(View):
    pod_fixed: dict[str, str | int | float] = {}


class RuntimeClass(Object):
    """`node.k8s.io/v1`: the overhead of its pods."""

    overhead: Overhead = Overhead()


class PriorityClass(Object):
    """`scheduling.k8s.io/v1`"""

    value: int = 0
    global_default: bool = False
