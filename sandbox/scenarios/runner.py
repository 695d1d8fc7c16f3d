"""Runs a scenario: submits its examples, and prints milestones and phases as observed on the API server.

`milestones` and `timeline` evaluate the observations; this module has the watches, the clock and the console.
"""

import queue
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TextIO

import yaml
from lightkube import Client
from lightkube.core.exceptions import ApiError
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from muster.objects.names import PRIORITY_LABEL
from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.processes import wait_until
from sandbox.scenarios.milestones import JobsByRole, MilestoneResult, MilestoneTracker, Scenario, is_suspended
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects, job_status
from sandbox.scenarios.timeline import Timeline, bars, phase
from sandbox.scenarios.worker_sizes import is_autoscaled, worker_sizes
from sandbox.stand_ins.reflector import Reflector
from tools.toolchain.steps import StepError

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
) -> bool:
    """Runs the scenario once; returns whether all milestones were observed in order within the limit.

    `examples` are the manifests to submit, by role, with generateName. `check` is called while no changes
    arrive; its exceptions, such as for an engine that has ended, end the run. Raises: StepError if the run
    can't start: the stack is not deployed, or leftovers are not deleted in time.
    """
    manifests = {role: _named(manifest) for role, manifest in examples.items()}
    with closing(kinds.connect(kubeconfig)) as client:
        remove_leftovers(client)
        for manifest in manifests.values():
            wait_for_policy(client, manifest, scenario.policies_active)
        console = Console(file=out, width=None if out.isatty() else PLAIN_WIDTH, highlight=False)
        # The watches have a separate client, which is closed with them.
        scenario_run = ScenarioRun(client, kinds.connect(kubeconfig), console, scenario, manifests)
        scenario_run.run(limit_seconds, check)
        return scenario_run.report()


def read_examples(scenario: Scenario, folder: Path) -> dict[str, Object]:
    """Returns the scenario's manifests by role, in the order of its examples."""
    return {role: yaml.safe_load((folder / name).read_text()) for role, name in scenario.examples.items()}


def _named(manifest: Object) -> Object:
    """Returns the manifest with a generated name, like the API server's."""
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["generateName"] + secrets.token_hex(3)}
    metadata["labels"] = {**metadata["labels"], SCENARIO_LABEL: "true"}
    return {**manifest, "metadata": metadata}


def remove_leftovers(client: Client) -> None:
    """Deletes the jobs of earlier runs, which would hold quota, and waits for their deletion."""

    def leftovers() -> list[tuple[str, Object]]:
        return kinds.jobs(client, {SCENARIO_LABEL: "true"})

    for name, job in leftovers():
        kinds.delete(client, kinds.JOBS[name], job)
    wait_until("deletion of the jobs of an earlier run", lambda: not leftovers(), CLEAN_SECONDS_MAX)


def wait_for_policy(
    client: Client, manifest: Object, policies_active: Callable[[Object], bool] = is_suspended
) -> None:
    """Waits until `policies_active` is true for a new job, as admission policies take effect with a delay."""

    def is_active() -> bool:
        return policies_active(client.create(kinds.JOBS[manifest["kind"]](manifest), dry_run=True))

    try:
        wait_until(f"the admission policy for queued {manifest['kind']}s", is_active, POLICY_SECONDS_MAX)
    except ApiError as error:
        raise StepError(f"the API server refuses the example: {error}") from error


class ScenarioRun:
    """A run of a scenario: submits jobs, watches their objects and prints the events."""

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
        self._tracker = MilestoneTracker(scenario, self._jobs)
        self._timeline = Timeline()
        self._granted: dict[JobRef, int] = {}
        self._changes: queue.SimpleQueue[ObservedChange] = queue.SimpleQueue()
        self._began = time.monotonic()

    def run(self, limit_seconds: float, check: Callable[[], None]) -> None:
        """Submits the first job, and other jobs at their milestones, until all milestones are observed or the
        time has run out."""
        reflectors = [Reflector(self._watching, kind, self._enqueue).start() for kind in self._scenario.kinds]
        self._submit(next(iter(self._manifests)))
        # On a terminal, live bars are below the lines.
        with self._live():
            while not self._tracker.done and self._elapsed() < limit_seconds:
                try:
                    reached = self._apply(self._changes.get(timeout=0.25))
                except queue.Empty:
                    check()
                    continue
                self._submit_or_remove(reached)
        for reflector in reflectors:
            reflector.stop()

    def report(self) -> bool:
        """Prints the table, the timeline and the missed milestones; returns whether none is missed."""
        milestones = self._tracker.results()
        self._console.print(_table(milestones))
        self._console.print(self._bars(), markup=False)
        missed = [m for m in milestones if m.problem]
        for milestone in missed:
            problem = f"NOT AS EXPECTED: {milestone.title}: {milestone.problem}"
            self._console.print(problem, markup=False, style="red")
        if missed:
            for line in state_of(self._tracker.observed, self._jobs.values()):
                self._console.print(line, markup=False)
        return not missed

    def _submit_or_remove(self, reached: Iterable[MilestoneResult]) -> None:
        for result in reached:
            milestone = self._scenario.milestone(result.title)
            if milestone.submit:
                self._submit(milestone.submit)
            if milestone.remove:
                self._remove(milestone.remove)

    def _submit(self, role: str) -> None:
        manifest, ref = self._manifests[role], self._jobs[role]
        self._client.create(kinds.JOBS[ref.kind](manifest))
        self._print(f"{ref.name}: submitted, {_priority(manifest)}")

    def _remove(self, role: str) -> None:
        ref = self._jobs[role]
        self._client.delete(kinds.JOBS[ref.kind], ref.name, namespace=ref.namespace)
        self._print(f"{ref.name}: deleted")

    def _enqueue(self, kind: str, obj: Object, deleted: bool) -> None:
        """Enqueues a change; called on the reflectors' threads."""
        self._changes.put(ObservedChange(self._elapsed(), kind, obj, deleted))

    def _apply(self, change: ObservedChange) -> list[MilestoneResult]:
        reached = self._tracker.apply(change)
        for ref in self._jobs.values():
            now = phase(self._tracker.observed, ref)
            if self._timeline.record(change.at, ref.name, now) and now is not None:
                self._print(f"{ref.name}: {now.value}", change.at)
            self._report_size(ref, change.at)
        for milestone in reached:
            self._print(f"OK {milestone.title}: {milestone.detail}", change.at, style="green")
        return reached

    def _report_size(self, ref: JobRef, at: float) -> None:
        """Prints the size of an autoscaled job if its quota has changed."""
        if is_autoscaled(self._tracker.observed.job(ref)):
            sizes = worker_sizes(self._tracker.observed, ref)
            if sizes.granted != self._granted.setdefault(ref, 0):
                self._granted[ref] = sizes.granted
                self._print(f"{ref.name}: {sizes}", at)

    def _elapsed(self) -> float:
        """Returns the elapsed seconds, rounded to milliseconds."""
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
    table = Table(title="Observed on the API server")
    table.add_column("#", justify="right")
    table.add_column("milestone")
    table.add_column("at", justify="right")
    table.add_column("observation", overflow="fold")
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
