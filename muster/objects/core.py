"""Core objects: pods' phases, namespaces, priority classes and runtime classes."""

from muster.objects.meta import Object, View


class PodStatus(View):
    phase: str = ""


class Pod(Object):
    status: PodStatus = PodStatus()

    @property
    def holds_resources(self) -> bool:
        """Returns False for a terminated pod, which has released its resources."""
        return self.status.phase not in ("Succeeded", "Failed")


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
