"""A step that Kueue and the core once decided differently, kept as data: objects, and Kueue's outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from muster import admission as core
from muster.objects import kueue, kueue_queues
from muster.objects.meta import Object, builtins
from tests.conformance.differential import core_side
from tests.conformance.differential.core_side import Objects
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.scenario import CLASSICAL, FAIR
from tests.conformance.objects import views

KEPT = Path(__file__).with_name("kept")
RULES = {CLASSICAL: core.Rules(), FAIR: core.Rules(fair_sharing=core.FairSharing())}


@dataclass(frozen=True)
class Found:
    """`name` describes the step; `workloads` are those before Kueue decided, by key.

    `on_purpose` is the reason for the difference; it is empty if the core decides as Kueue does.
    """

    name: str
    mode: str
    objects: Objects
    workloads: Mapping[str, kueue.Workload]
    kueue: Outcome
    on_purpose: str = ""

    def differences(self) -> list[str]:
        ours = core_side.outcome(self.objects, self.workloads, RULES[self.mode])
        return ours.differences(self.kueue)

    def has_choosing_gang(self) -> bool:
        """Returns whether a workload with several pod sets is in a queue with several flavors for a resource.

        Kueue searches for their flavors over several cycles, sometimes forever, and resumes where it
        stopped; this state is only in its memory, so the core cannot know it."""
        choosing = {
            queue.metadata.name
            for queue in self.objects.cluster_queues
            if any(len(group.flavors) > 1 for group in queue.spec.resource_groups)
        }
        local_queues = self.objects.local_queues
        return any(
            len(workload.spec.pod_sets) > 1
            and local_queues[f"{workload.metadata.namespace}/{workload.spec.queue_name}"].spec.cluster_queue
            in choosing
            for workload in self.workloads.values()
        )


def save(disagreement: Found, path: Path) -> None:
    objects = disagreement.objects
    data = {
        "name": disagreement.name,
        "mode": disagreement.mode,
        "flavors": _plain(objects.flavors),
        "cohorts": _plain(objects.cohorts),
        "clusterQueues": _plain(objects.cluster_queues),
        "localQueues": _plain(objects.local_queues.values()),
        "workloads": _plain(disagreement.workloads.values()),
        "kueue": {"held": disagreement.kueue.held, "preempted": disagreement.kueue.preempted},
        "onPurpose": disagreement.on_purpose,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n")


def read(path: Path) -> Found:
    data = msgspec.json.decode(path.read_bytes())
    local_queues = views(data["localQueues"], kueue_queues.LocalQueue)
    workloads = views(data["workloads"], kueue.Workload)
    return Found(
        data["name"],
        data["mode"],
        Objects(
            tuple(views(data["flavors"], kueue_queues.ResourceFlavor)),
            tuple(views(data["cohorts"], kueue_queues.Cohort)),
            tuple(views(data["clusterQueues"], kueue_queues.ClusterQueue)),
            {q.key: q for q in local_queues},
        ),
        {w.key: w for w in workloads},
        Outcome(data["kueue"]["held"], data["kueue"]["preempted"]),
        data["onPurpose"],
    )


def _plain(objects: Any) -> list[Any]:
    return [_without_status_noise(builtins(obj)) for obj in objects if isinstance(obj, Object)]


def _without_status_noise(data: dict[str, Any]) -> dict[str, Any]:
    """Drops the queues' statuses, which are not read."""
    if "podSets" not in data.get("spec", {}):
        data.pop("status", None)
    return data
