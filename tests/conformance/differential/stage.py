"""Runs many scenarios on one API server: takes a step in all of them, then waits until Kueue has decided.

Only Kueue's scheduler and its Workload controller are tested: no job owns the Workloads, so this module
releases the quota of evicted Workloads in place of a job's controller.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lightkube import Client
from lightkube.generic_resource import create_global_resource

from muster.cluster.jobs.job import JobOutcome
from muster.controller.workload import transitions
from muster.objects import kueue, kueue_queues, workload_status
from muster.objects.meta import builtins, find_condition
from muster.objects.names import KUEUE_GROUP
from muster.objects.workload_status import holds_quota
from sandbox.cluster import kinds
from sandbox.stand_ins.reflector import Reflector
from tests.conformance.differential.core_side import Objects, leaves
from tests.conformance.differential.outcome import Outcome, held_by
from tests.conformance.differential.patience import PatientClient
from tests.conformance.differential.scenario import Change, Finish, Manifest, Scenario, Step, Submit
from tests.conformance.objects import view

QUIET_SECONDS = 2.2  # without changes; Kueue retries parked workloads in batches of a second
SAME_SECONDS = 8.0  # without changes of quota, while a head's message changes from cycle to cycle
STEP_SECONDS_MAX = 40.0
PAUSE_SECONDS = 0.05
RELEASES_MAX = 4  # of a workload in a step; beyond that, Kueue preempts in a circle
KINDS = {
    "ResourceFlavor": create_global_resource(KUEUE_GROUP, "v1beta2", "ResourceFlavor", "resourceflavors"),
    "Cohort": create_global_resource(KUEUE_GROUP, "v1beta2", "Cohort", "cohorts"),
    "ClusterQueue": kinds.ClusterQueue,
    "LocalQueue": kinds.LocalQueue,
    "Workload": kinds.Workload,
}
Workloads = dict[str, kueue.Workload]  # by key


@dataclass(frozen=True)
class Moment:
    """The objects after a step, before Kueue has decided."""

    objects: Objects
    workloads: Workloads


@dataclass
class Play:
    """One scenario on the API server, and the objects and the outcome of each step."""

    scenario: Scenario  # with its prefixed names
    namespace: str
    objects: Objects
    before: list[Moment] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    restless: bool = False  # Kueue did not settle in the step after these


class Stage:
    """Takes a step in every play, and waits until Kueue has settled."""

    def __init__(self, client: Client, plays: Sequence[Play]) -> None:
        self._client, self._plays = PatientClient(client), plays
        self._workloads: dict[str, kueue.Workload] = {}
        self._lock = threading.Lock()
        self._changed_at: dict[str, float] = defaultdict(time.monotonic)  # any change, by namespace
        self._moved_at: dict[str, float] = defaultdict(time.monotonic)  # changes of quota, by namespace
        self._preempted: dict[str, dict[str, str]] = defaultdict(dict)  # by namespace
        self._releases: dict[str, int] = defaultdict(int)  # of workloads, by key
        self._reflector = Reflector(client, kinds.Workload, self._note).start()
        self._reflector.wait_listed(STEP_SECONDS_MAX)

    def close(self) -> None:
        self._reflector.stop()

    def step(self, index: int) -> int:
        """Takes step `index`, and returns the number of plays that have it."""
        self._preempted.clear()
        self._releases.clear()
        taken = [p for p in self._plays if index < len(p.scenario.steps) and not p.restless]
        before = {step.namespace: self._take(step, step.scenario.steps[index]) for step in taken}
        self._settle(taken)
        for step in taken:
            if step.restless:  # Kueue would keep working on it
                self._client.delete_all(kinds.Workload, step.namespace)
                continue
            step.before.append(Moment(step.objects, before[step.namespace]))
            workloads = self._unfinished(step.namespace).values()
            step.outcomes.append(Outcome(held_by(workloads), dict(self._preempted[step.namespace])))
        return len(taken)

    def _note(self, _kind: str, obj: kinds.Object, gone: bool) -> None:
        """Runs on the reflector's thread."""
        workload = view(obj, kueue.Workload)
        namespace, before = workload.metadata.namespace, self._workloads.get(workload.key)
        self._changed_at[namespace] = time.monotonic()
        if gone or before is None or _holds(before) != _holds(workload):
            self._moved_at[namespace] = time.monotonic()
        if gone:
            self._workloads.pop(workload.key, None)
            return
        self._keep(workload)
        preempted = find_condition(workload.status.conditions, workload_status.PREEMPTED)
        if leaves(workload) and preempted is not None and preempted.status == "True":
            self._preempted[namespace][workload.metadata.name] = preempted.reason

    def _unfinished(self, namespace: str) -> Workloads:
        return {
            key: w
            for key, w in sorted(self._workloads.copy().items())
            if w.metadata.namespace == namespace and not workload_status.is_finished(w.status)
        }

    def _take(self, play: Play, step: Step) -> Workloads:
        """Takes the step; returns the workloads after it, before Kueue has decided."""
        workloads = self._unfinished(play.namespace)
        if isinstance(step, Submit):
            created = view(self._client.create(kinds.Workload(step.workload)), kueue.Workload)
            return {**workloads, created.key: created}
        if isinstance(step, Change):
            play.objects = self._changed(play.objects, step.object)
            return workloads
        finishes = isinstance(step, Finish)
        able = [w for w in workloads.values() if holds_quota(w.status) is finishes]
        if not able:
            return workloads
        workload = able[step.place % len(able)]
        if finishes:
            self._finish(workload)
        else:
            self._client.delete(kinds.Workload, workload.metadata.name, workload.metadata.namespace)
            self._workloads.pop(workload.key, None)
        return {key: w for key, w in workloads.items() if key != workload.key}

    def _changed(self, objects: Objects, obj: Manifest) -> Objects:
        name = obj["metadata"]["name"]
        data = self._client.replace_spec(KINDS[obj["kind"]], name, obj["spec"])
        if obj["kind"] == "Cohort":
            cohort = view(data, kueue_queues.Cohort)
            cohorts = (cohort if c.metadata.name == name else c for c in objects.cohorts)
            return replace(objects, cohorts=tuple(cohorts))
        queue = view(data, kueue_queues.ClusterQueue)
        queues = (queue if q.metadata.name == name else q for q in objects.cluster_queues)
        return replace(objects, cluster_queues=tuple(queues))

    def _finish(self, workload: kueue.Workload) -> None:
        meta, outcome = workload.metadata, JobOutcome(succeeded=True, message="done")
        while not self._write(workload, transitions.finish(workload.status, outcome, _now_ms())):
            data = self._client.read(kinds.Workload, meta.name, meta.namespace)
            workload = view(data, kueue.Workload)

    def _settle(self, plays: Sequence[Play]) -> None:
        begun = time.monotonic()
        for play in plays:
            self._changed_at[play.namespace] = self._moved_at[play.namespace] = begun
        waiting = {play.namespace: play for play in plays}
        while waiting and time.monotonic() - begun < STEP_SECONDS_MAX:
            for workload in list(self._workloads.values()):
                if workload.metadata.namespace in waiting and leaves(workload):
                    released = self._write(workload, transitions.release(workload.status, _now_ms()))
                    self._releases[workload.key] += released
                    play = waiting[workload.metadata.namespace]
                    play.restless |= self._releases[workload.key] > RELEASES_MAX
            now = time.monotonic()
            for name, play in list(waiting.items()):
                quiet = now - self._changed_at[name] > QUIET_SECONDS
                if quiet or play.restless or now - self._moved_at[name] > SAME_SECONDS:
                    del waiting[name]
            time.sleep(PAUSE_SECONDS)
        for play in waiting.values():
            play.restless = True

    def _write(self, workload: kueue.Workload, status: kueue.WorkloadStatus) -> bool:
        """Writes the status; returns False if the workload has changed meanwhile."""
        changed = write_status(self._client, workload, status)
        if changed is not None:
            self._keep(changed)
        return changed is not None

    def _keep(self, workload: kueue.Workload) -> None:
        """Keeps the newest version: the answer to a write may arrive after Kueue's next change."""
        with self._lock:
            existing = self._workloads.get(workload.key)
            if existing is None or _version(existing) < _version(workload):
                self._workloads[workload.key] = workload


def write_status(
    client: PatientClient, workload: kueue.Workload, status: kueue.WorkloadStatus
) -> kueue.Workload | None:
    """Returns the changed workload; None if it has changed meanwhile."""
    body = {
        "metadata": {"resourceVersion": workload.metadata.resource_version},
        "status": {"admission": None, **builtins(status)},
    }
    meta = workload.metadata
    changed: Any = client.merge_status(kinds.Workload, meta.name, meta.namespace, body)
    return None if changed is None else view(changed, kueue.Workload)


def _holds(workload: kueue.Workload) -> tuple[bool, bool]:
    """Returns whether it holds quota, and whether it is evicted."""
    return holds_quota(workload.status), workload_status.is_evicted(workload.status)


def _version(workload: kueue.Workload) -> int:
    return int(workload.metadata.resource_version)


def _now_ms() -> int:
    return int(time.time() * 1000)
