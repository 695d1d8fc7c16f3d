"""Runs a scenario: submits its examples, and prints their milestones and phases by the API server.

`milestones` and `timeline` decide what was observed; this module has the watches, the clock and the screen.
"""

from __future__ import annotations

import queue
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any, TextIO

import yaml
from lightkube import Client
from lightkube.core.exceptions import ApiError
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.processes import wait_until
from sandbox.scenarios.fit import PRIORITY_LABEL
from sandbox.scenarios.milestones import JobsByRole, MilestoneResult, Progress, Scenario, is_suspended
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects, job_status
from sandbox.scenarios.recording import GpuUse, Recording, recorded_job
from sandbox.scenarios.timeline import Timeline, bars, phase
from sandbox.stand_ins.reflector import Reflector
from sandbox.toolchain.steps import StepError

JOB_KINDS: Mapping[str, kinds.Kind] = {
    k.__name__: k for k in (kinds.RayJob, kinds.RayCluster, kinds.RayService)
}
SCENARIO_LABEL = "sandbox.muster.dev/scenario"
LIMIT_SECONDS = 120.0
POLICY_SECONDS_MAX = 15.0
CLEAN_SECONDS_MAX = 30.0
PLAIN_WIDTH = 120


def run(
    scenario: Scenario,
    kubeconfig: Path,
    examples: Mapping[str, Object],
    out: TextIO,
    limit_seconds: float = LIMIT_SECONDS,
    check: Callable[[], None] = lambda: None,
) -> Recording:
    """Runs the scenario once; the recording is complete if all milestones were observed in order in time.

    `examples` are what is submitted, by role, with names still to be generated.
    `check` is called while nothing happens; what it raises (an engine that has ended) ends the waiting.
    Raises: StepError if it cannot begin: a cluster without the stack, or leftovers that do not go away.
    """
    manifests = {role: _named(manifest) for role, manifest in examples.items()}
    with closing(kinds.connect(kubeconfig)) as client:
        remove_leftovers(client)
        for manifest in manifests.values():
            wait_for_policy(client, manifest, scenario.policies_active)
        console = Console(file=out, width=None if out.isatty() else PLAIN_WIDTH, highlight=False)
        # The watches have a client of their own, which ends with them.
        scenario_run = ScenarioRun(client, kinds.connect(kubeconfig), console, scenario, manifests)
        scenario_run.run(limit_seconds, check)
        scenario_run.report()
        return scenario_run.recording()


def read_examples(scenario: Scenario, folder: Path) -> dict[str, Object]:
    """Returns the scenario's manifests by role, in the order of its examples."""
    return {role: yaml.safe_load((folder / name).read_text()) for role, name in scenario.examples.items()}


def _named(manifest: Object) -> Object:
    """Returns the manifest with a name as the API server would generate it."""
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["generateName"] + secrets.token_hex(3)}
    metadata["labels"] = {**metadata["labels"], SCENARIO_LABEL: "true"}
    return {**manifest, "metadata": metadata}


def remove_leftovers(client: Client) -> None:
    """Deletes what was submitted earlier, which would hold quota, and waits until it is gone."""

    def left() -> list[tuple[kinds.Kind, Object]]:
        labels: dict[str, Any] = {SCENARIO_LABEL: "true"}
        return [(k, o) for k in JOB_KINDS.values() for o in client.list(k, namespace="*", labels=labels)]

    for kind, job in left():
        kinds.delete(client, kind, job)
    wait_until("deletion of what an earlier run submitted", lambda: not left(), CLEAN_SECONDS_MAX)


def wait_for_policy(
    client: Client, manifest: Object, policies_active: Callable[[Object], bool] = is_suspended
) -> None:
    """Waits until `policies_active` is true of a new job: new admission policies take effect with a delay."""

    def is_active() -> bool:
        return policies_active(client.create(JOB_KINDS[manifest["kind"]](manifest), dry_run=True))

    try:
        wait_until(f"the admission policy for queued {manifest['kind']}s", is_active, POLICY_SECONDS_MAX)
    except ApiError as error:
        raise StepError(f"the API server refuses the example: {error}") from error


class ScenarioRun:
    """One run of a scenario: submits jobs, watches their objects and prints what happens."""

    def __init__(
        self,
        client: Client,
        watching: Client,
        console: Console,
        scenario: Scenario,
        manifests: Mapping[str, Object],
    ) -> None:
        self._client, self._watching, self._console = client, watching, console
        self._scenario, self._manifests = scenario, manifests
        self._jobs: JobsByRole = {role: JobRef(m["kind"], *kinds.key(m)) for role, m in manifests.items()}
        self._progress = Progress(scenario, self._jobs)
        self._timeline, self._gpus = Timeline(), GpuUse()
        self._changes: queue.SimpleQueue[ObservedChange] = queue.SimpleQueue()
        self._began = time.monotonic()

    def run(self, limit_seconds: float, check: Callable[[], None]) -> None:
        """Submits the first job, and the others at their milestones, until all milestones are observed."""
        reflectors = [Reflector(self._watching, kind, self._enqueue).start() for kind in self._scenario.kinds]
        self._submit(next(iter(self._manifests)))
        # On a terminal the bars grow below the lines; elsewhere there are only the lines.
        with self._live():
            while not self._progress.done and self._elapsed() < limit_seconds:
                try:
                    reached = self._apply(self._changes.get(timeout=0.25))
                except queue.Empty:
                    check()
                    continue
                self._submit_or_remove(reached)
        for reflector in reflectors:
            reflector.stop()

    def recording(self) -> Recording:
        """Returns what was seen."""
        jobs = [
            recorded_job(manifest, _priority(manifest), self._timeline.changes[self._jobs[role].name])
            for role, manifest in self._manifests.items()
            if self._jobs[role].name in self._timeline.changes
        ]
        return Recording(
            self._scenario.name,
            self._elapsed(),
            self._gpus.queue,
            jobs,
            self._progress.results(),
            self._gpus.changes,
        )

    def report(self) -> None:
        """Prints the table and the timeline, and what is missing."""
        milestones = self._progress.results()
        self._console.print(_table(milestones))
        self._console.print(self._bars(), markup=False)
        missed = [m for m in milestones if m.problem]
        for milestone in missed:
            what = f"NOT AS EXPECTED: {milestone.title}: {milestone.problem}"
            self._console.print(what, markup=False, style="red")
        if missed:
            for line in state_of(self._progress.observed, self._jobs.values()):
                self._console.print(line, markup=False)

    def _submit_or_remove(self, reached: Iterable[MilestoneResult]) -> None:
        for result in reached:
            milestone = self._scenario.milestone(result.title)
            if milestone.submit:
                self._submit(milestone.submit)
            if milestone.remove:
                self._remove(milestone.remove)

    def _submit(self, role: str) -> None:
        manifest, ref = self._manifests[role], self._jobs[role]
        self._client.create(JOB_KINDS[ref.kind](manifest))
        self._print(f"{ref.name}: submitted, {_priority(manifest)}")

    def _remove(self, role: str) -> None:
        ref = self._jobs[role]
        self._client.delete(JOB_KINDS[ref.kind], ref.name, namespace=ref.namespace)
        self._print(f"{ref.name}: deleted")

    def _enqueue(self, kind: str, obj: Object, gone: bool) -> None:
        """Called by the reflectors' threads."""
        self._changes.put(ObservedChange(self._elapsed(), kind, obj, gone))

    def _apply(self, change: ObservedChange) -> list[MilestoneResult]:
        reached = self._progress.apply(change)
        self._gpus.record(change.at, self._progress.observed, self._jobs)
        for ref in self._jobs.values():
            now = phase(self._progress.observed, ref)
            if self._timeline.record(change.at, ref.name, now) and now is not None:
                self._print(f"{ref.name}: {now.value}", change.at)
        for milestone in reached:
            self._print(f"OK {milestone.title}: {milestone.detail}", change.at, style="green")
        return reached

    def _elapsed(self) -> float:
        """Returns seconds, to the millisecond: more digits say nothing."""
        return round(time.monotonic() - self._began, 3)

    def _print(self, text: str, at: float | None = None, style: str = "") -> None:
        when = self._elapsed() if at is None else at
        self._console.print(f"{when:6.1f} s  {text}", markup=False, style=style)

    def _live(self) -> AbstractContextManager[object]:
        if not self._console.is_terminal:
            return nullcontext()
        return Live(get_renderable=lambda: Text(self._bars()), console=self._console, transient=True)

    def _bars(self) -> str:
        return "\n".join(bars(self._timeline.changes, self._elapsed()))


def _priority(manifest: Object) -> str:
    return str(manifest["metadata"]["labels"][PRIORITY_LABEL])


def _table(milestones: Sequence[MilestoneResult]) -> Table:
    table = Table(title="Seen on the API server")
    table.add_column("#", justify="right")
    table.add_column("milestone")
    table.add_column("at", justify="right")
    table.add_column("what was seen", overflow="fold")
    for number, milestone in enumerate(milestones, start=1):
        at = "-" if milestone.at is None else f"{milestone.at:.1f} s"
        table.add_row(str(number), milestone.title, at, Text(milestone.problem or milestone.detail))
    return table


def state_of(observed: ObservedObjects, jobs: Iterable[JobRef]) -> list[str]:
    """Returns the conditions of the scenario's objects, for the report of a failed run."""
    lines = []
    for ref in jobs:
        job = observed.job(ref)
        lines.append(f"{ref.kind} {ref.namespace}/{ref.name}: {_statuses(job) if job else 'not there'}")
        about = {
            "Workload": observed.workload(ref),
            "PodGroup": observed.pod_group(ref),
            "ProvisioningRequest": observed.request(ref),
        }
        for kind, obj in about.items():
            if obj:
                lines.append(f"  {kind} {kinds.key(obj)[1]}:")
            for c in (obj.get("status") or {}).get("conditions") or []:
                lines.append(f"    {c['type']}={c['status']} {c['reason']}: {c['message']}")
        lines.append(f"  pods: {len(observed.pods(ref))}")
    return lines


def _statuses(job: Object) -> str:
    """Returns a RayJob's two statuses, and the conditions that are true."""
    true = [c["type"] for c in (job.get("status") or {}).get("conditions") or [] if c["status"] == "True"]
    return " / ".join(filter(None, (*job_status(job), *true))) or "no status"
