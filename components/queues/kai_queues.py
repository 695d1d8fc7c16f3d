"""KAI's Queues and PriorityClasses, from the same settings as Kueue's."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from components.base import Component
from components.queues.kai_specs import kai_queues
from settings.model.operators.kai import PRIORITY_PREFIX
from settings.model.queues.queue import Queues


@dataclass(frozen=True)
class KaiQueuesArgs:
    """`priorities`: the values of the priority classes, by name."""

    queues: Queues
    priorities: Mapping[str, int]


class KaiQueues(Component):
    """KAI's Queues and PriorityClasses; `queues` is by name.

    A queue is created after its parent and deleted before it. A PriorityClass has the name of its
    WorkloadPriorityClass, with a prefix that distinguishes it from KAI's own, such as `inference`.
    """

    def __init__(self, name: str, args: KaiQueuesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("KaiQueues", name, opts)
        self.queues: dict[str, CustomResource] = {}
        for queue in kai_queues(args.queues):
            self.queues[queue.name] = CustomResource(
                self.named(queue.name),
                api_version="scheduling.run.ai/v2",
                kind="Queue",
                metadata=ObjectMetaArgs(name=queue.name),
                spec=queue.spec,
                opts=self.child(depends_on=[self.queues[queue.parent]] if queue.parent else []),
            )
        self.priorities = {
            name: self._priority_class(f"{PRIORITY_PREFIX}{name}", value)
            for name, value in args.priorities.items()
        }
        self.register_outputs({"queues": list(self.queues)})

    def _priority_class(self, name: str, value: int) -> PriorityClass:
        return PriorityClass(
            self.named(name),
            metadata=ObjectMetaArgs(name=name),
            value=value,
            # A PriorityClass's value is immutable, and the new object needs the name.
            opts=self.child(replace_on_changes=["value"], delete_before_replace=True),
        )
