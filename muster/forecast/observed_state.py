"""The state of a cluster at one moment, as estimates read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muster import admission as core
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.learning.learned import Learned
from muster.forecast.simulation.worker_group import NextNodes, WorkerGroup


@dataclass(frozen=True, slots=True)
class ObservedWorkload:
    """A workload that is queued or holds quota."""

    workload: core.Workload  # an elastic gang at its current size
    priority_class: str = ""
    user: str = ""
    admitted_ms: int | None = None  # None until its admission checks are ready
    ready_ms: int | None = None  # None until its pods are ready
    reports_ready: bool = False
    ended: bool = False  # finished, while its pods still hold quota
    is_endless: bool = False  # it runs until it is deleted, such as a RayService
    submitted_ms: int | None = None  # None: when it was queued
    elastic: tuple[core.Workload, ...] = ()  # an elastic gang and its granted surplus; empty for a fixed size
    groups: Mapping[str, WorkerGroup] = field(default_factory=dict)  # that may grow, by pod set
    terminating: Mapping[str, int] = field(default_factory=dict)  # workers without quota, by pod set
    nodes: Mapping[str, NextNodes] = field(default_factory=dict)  # that growth waits for, by pod set

    @property
    def waiting_since_ms(self) -> int:
        """The time of its submission."""
        return self.workload.queued_at_ms if self.submitted_ms is None else self.submitted_ms

    @property
    def may_grow(self) -> bool:
        """Returns whether it is an autoscaled gang that has started, and is not at its largest size or waits
        for nodes."""
        if self.admitted_ms is None or self.ended or self.workload.evicted:
            return False
        grows = (pods < self.groups[name].maximum for name, pods in self.group_sizes.items())
        return bool(self.nodes) or any(grows)

    @property
    def group_sizes(self) -> Mapping[str, int]:
        """The pods with quota of its groups or, before its start, those of its minimum."""
        held = self.workload.admission.pod_sets if self.workload.admission is not None else ()
        counts = {assigned.name: assigned.count for assigned in held}
        return {name: counts.get(name, group.minimum) for name, group in self.groups.items()}

    @property
    def parts(self) -> tuple[core.Workload, ...]:
        """The workloads that the core decides on: a gang, and its surplus."""
        return self.elastic or (self.workload,)


class State(Protocol):
    """The state of a cluster at one moment."""

    @property
    def configuration(self) -> QueueConfiguration:
        """The queues and rules."""

    @property
    def workloads(self) -> Mapping[str, ObservedWorkload]:
        """The workloads that are queued or hold quota, by key."""

    @property
    def learned(self) -> Learned:
        """The lessons of past jobs."""

    @property
    def now_ms(self) -> int:
        """The moment."""
