"""Plays a scenario: submits its examples and shows, as read back from the API server, what becomes of them.

The watching shell around `milestones` and `timeline`, which decide what was seen.
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
from sandbox.scenarios.milestones import Cast, Milestone, Progress, Scenario, is_suspended
from sandbox.scenarios.observations import JobRef, Seen, World, job_status
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
    """Plays the scenario once; the recording is complete if all milestones were seen in order in time.

    `examples` are what is submitted, by role, with names still to be generated.
    `check` is called while nothing happens; what it raises (an engine that has ended) ends the waiting.
    Raises StepError where it cannot begin: a cluster without the stack, or leftovers that do not go away.
    """
    manifests = {role: _named(manifest) for role, manifest in examples.items()}
    with closing(kinds.connect(kubeconfig)) as client:
        remove_leftovers(client)
        for manifest in manifests.values():
            wait_for_policy(client, manifest, scenario.taken_up)
        console = Console(file=out, width=None if out.isatty() else PLAIN_WIDTH, highlight=False)
        # The watches have a client of their own, which ends with them.
        player = Player(client, kinds.connect(kubeconfig), console, scenario, manifests)
        player.play(limit_seconds, check)
        player.report()
        return player.recording()


def read_examples(scenario: Scenario, folder: Path) -> dict[str, Object]:
    """The scenario's manifests by role, in the order of its examples."""
    return {role: yaml.safe_load((folder / name).read_text()) for role, name in scenario.examples.items()}


def _named(manifest: Object) -> Object:
    """The manifest with the name that the API server would generate, so that it is known beforehand."""
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
    client: Client, manifest: Object, taken_up: Callable[[Object], bool] = is_suspended
) -> None:
    """Waits until the API server does to new jobs what `taken_up` looks for: it takes a new admission policy
    up with some delay."""

    def in_force() -> bool:
        return taken_up(client.create(JOB_KINDS[manifest["kind"]](manifest), dry_run=True))

    try:
        wait_until(f"the admission policy for queued {manifest['kind']}s", in_force, POLICY_SECONDS_MAX)
    except ApiError as error:
        raise StepError(f"the API server refuses the example: {error}") from error


class Player:
    """One run: submits, follows, shows."""

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
        self._cast: Cast = {role: JobRef(m["kind"], *kinds.key(m)) for role, m in manifests.items()}
        self._progress = Progress(scenario, self._cast)
        self._timeline, self._gpus = Timeline(), GpuUse()
        self._seen: queue.SimpleQueue[Seen] = queue.SimpleQueue()
        self._began = time.monotonic()

    def play(self, limit_seconds: float, check: Callable[[], None]) -> None:
        """Submits the first job, and does what the scenario says at each milestone, until all are seen."""
        reflectors = [Reflector(self._watching, kind, self._note).start() for kind in self._scenario.kinds]
        self._submit(next(iter(self._manifests)))
        # On a terminal the bars grow below the lines; elsewhere there are only the lines.
        with self._live():
            while not self._progress.done and self._elapsed() < limit_seconds:
                try:
                    reached = self._take(self._seen.get(timeout=0.25))
                except queue.Empty:
                    check()
                    continue
                self._act(reached)
        for reflector in reflectors:
            reflector.stop()

    def recording(self) -> Recording:
        """Returns what was seen."""
        jobs = [
            recorded_job(manifest, _priority(manifest), self._timeline.changes[self._cast[role].name])
            for role, manifest in self._manifests.items()
            if self._cast[role].name in self._timeline.changes
        ]
        return Recording(
            self._scenario.name,
            self._elapsed(),
            self._gpus.queue,
            jobs,
            self._progress.milestones(),
            self._gpus.changes,
        )

    def report(self) -> None:
        """Prints the table and the timeline, and what is missing."""
        milestones = self._progress.milestones()
        self._console.print(_table(milestones))
        self._console.print(self._bars(), markup=False)
        missed = [m for m in milestones if m.problem]
        for milestone in missed:
            what = f"NOT AS EXPECTED: {milestone.title}: {milestone.problem}"
            self._console.print(what, markup=False, style="red")
        if missed:
            for line in state_of(self._progress.world, self._cast.values()):
                self._console.print(line, markup=False)

    def _act(self, reached: Iterable[Milestone]) -> None:
        for milestone in reached:
            chapter = self._scenario.chapter(milestone.title)
            if chapter.submit:
                self._submit(chapter.submit)
            if chapter.remove:
                self._remove(chapter.remove)

    def _submit(self, role: str) -> None:
        manifest, ref = self._manifests[role], self._cast[role]
        self._client.create(JOB_KINDS[ref.kind](manifest))
        self._say(f"{ref.name}: submitted, {_priority(manifest)}")

    def _remove(self, role: str) -> None:
        ref = self._cast[role]
        self._client.delete(JOB_KINDS[ref.kind], ref.name, namespace=ref.namespace)
        self._say(f"{ref.name}: deleted")

    def _note(self, kind: str, obj: Object, gone: bool) -> None:
        """Called by the reflectors' threads."""
        self._seen.put(Seen(self._elapsed(), kind, obj, gone))

    def _take(self, seen: Seen) -> list[Milestone]:
        reached = self._progress.see(seen)
        self._gpus.see(seen.at, self._progress.world, self._cast)
        for ref in self._cast.values():
            now = phase(self._progress.world, ref)
            if self._timeline.see(seen.at, ref.name, now) and now is not None:
                self._say(f"{ref.name}: {now.value}", seen.at)
        for milestone in reached:
            self._say(f"OK {milestone.title}: {milestone.detail}", seen.at, style="green")
        return reached

    def _elapsed(self) -> float:
        """Returns seconds, to the millisecond: more digits say nothing."""
        return round(time.monotonic() - self._began, 3)

    def _say(self, text: str, at: float | None = None, style: str = "") -> None:
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


def _table(milestones: Sequence[Milestone]) -> Table:
    table = Table(title="Seen on the API server")
    table.add_column("#", justify="right")
    table.add_column("milestone")
    table.add_column("at", justify="right")
    table.add_column("what was seen", overflow="fold")
    for number, milestone in enumerate(milestones, start=1):
        at = "-" if milestone.at is None else f"{milestone.at:.1f} s"
        table.add_row(str(number), milestone.title, at, Text(milestone.problem or milestone.detail))
    return table


def state_of(world: World, jobs: Iterable[JobRef]) -> list[str]:
    """Returns the conditions of the scenario's objects, for the report of a failed run."""
    lines = []
    for ref in jobs:
        job = world.job(ref)
        lines.append(f"{ref.kind} {ref.namespace}/{ref.name}: {_statuses(job) if job else 'not there'}")
        about = {
            "Workload": world.workload(ref),
            "PodGroup": world.pod_group(ref),
            "ProvisioningRequest": world.request(ref),
        }
        for kind, obj in about.items():
            if obj:
                lines.append(f"  {kind} {kinds.key(obj)[1]}:")
            for c in (obj.get("status") or {}).get("conditions") or []:
                lines.append(f"    {c['type']}={c['status']} {c['reason']}: {c['message']}")
        lines.append(f"  pods: {len(world.pods(ref))}")
    return lines


def _statuses(job: Object) -> str:
    """Returns a RayJob's two statuses, and the conditions that are true."""
    true = [c["type"] for c in (job.get("status") or {}).get("conditions") or [] if c["status"] == "True"]
    return " / ".join(filter(None, (*job_status(job), *true))) or "no status"
