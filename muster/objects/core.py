"""Core objects: pods' phases, namespaces, priority classes and runtime classes."""

from muster.objects.meta import Object, View


class PodStatus(View):
    """The phase of a pod."""

    phase: str = ""


class Pod(Object):
    """A pod, with what decisions need of it."""

    status: PodStatus = PodStatus()

    @property
    def holds_resources(self) -> bool:
        """Returns False for a terminated pod, which has released its resources."""
        return self.status.phase not in ("Succeeded", "Failed")


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
