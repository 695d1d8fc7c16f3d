"""Core objects: pods (the few fields that their leaving needs), namespaces, priority and runtime classes."""

from muster.objects.meta import Object, View


class PodStatus(View):
    phase: str = ""


class Pod(Object):
    status: PodStatus = PodStatus()

    @property
    def holds_resources(self) -> bool:
        """A pod that ran to its end has given back what it used, though its object is still there."""
        return self.status.phase not in ("Succeeded", "Failed")


class Namespace(Object):
    pass


class Overhead(View):
    pod_fixed: dict[str, str | int | float] = {}


class RuntimeClass(Object):
    """`node.k8s.io/v1`: what each of its pods costs beside its containers."""

    overhead: Overhead = Overhead()


class PriorityClass(Object):
    """`scheduling.k8s.io/v1`"""

    value: int = 0
    global_default: bool = False
