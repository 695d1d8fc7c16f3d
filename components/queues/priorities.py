"""WorkloadPriorityClasses, which jobs name in the label `kueue.x-k8s.io/priority-class`."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.base import Component
from components.queues.kueue_api import WorkloadPriorityClass


@dataclass(frozen=True)
class PrioritiesArgs:
    """`priorities`: the values of the classes, by name."""

    priorities: Mapping[str, int]


class Priorities(Component):
    """One class a name. A new value updates it in place and applies to workloads created later."""

    def __init__(self, name: str, args: PrioritiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Priorities", name, opts)
        self.classes = {
            name: WorkloadPriorityClass(name, value, self.child()) for name, value in args.priorities.items()
        }
        self.register_outputs({"names": list(self.classes)})
