"""Submits the examples and shows, as read back from the API server, how the dev job gives way to production.

The watching shell around `milestones` and `timeline`, which decide what was seen.
"""

from __future__ import annotations

import queue
import secrets
import time
from collections.abc import Callable, Sequence
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

from sandbox import kinds
from sandbox.kinds import Object
from sandbox.milestones import Milestone, Progress
from sandbox.observations import JobRef, Seen, World, job_status
from sandbox.processes import wait_until
from sandbox.reflector import Reflector
from sandbox.steps import StepError
from sandbox.timeline import Timeline, bars, phase

DEV = "dev-finetune.rayjob.yaml"
PROD = "prod-batch-inference.rayjob.yaml"
WATCHED = (kinds.Node, kinds.RayJob, kinds.Workload, kinds.ProvisioningRequest, kinds.Pod)
SCENARIO_LABEL = "sandbox.muster.dev/scenario"
LIMIT_SECONDS = 120.0
POLICY_SECONDS_MAX = 15.0
CLEAN_SECONDS_MAX = 30.0
PLAIN_WIDTH = 120


def run(
    kubeconfig: Path,
    examples: Path,
    out: TextIO,
    limit_seconds: float = LIMIT_SECONDS,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Plays the scenario once; True only if all milestones were seen in their order within the limit.

    `check` is called while nothing happens; what it raises (an engine that has ended) ends the waiting.
    Raises StepError where it cannot begin: a cluster without the stack, or leftovers that do not go away.
    """
    with closing(kinds.connect(kubeconfig)) as client:
        return _run(client, examples, out, limit_seconds, check)


def _run(
    client: Client, examples: Path, out: TextIO, limit_seconds: float, check: Callable[[], None]
) -> bool:
    dev, prod = (_named(yaml.safe_load((examples / name).read_text())) for name in (DEV, PROD))
    remove_leftovers(client)
    wait_for_policy(client, dev)
    console = Console(file=out, width=None if out.isatty() else PLAIN_WIDTH, highlight=False)
    scenario = Scenario(client, console, dev, prod)
    scenario.play(limit_seconds, check)
    return scenario.report()


def _named(manifest: Object) -> Object:
    """The manifest with the name that the API server would generate, so that it is known beforehand."""
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["generateName"] + secrets.token_hex(3)}
    metadata["labels"] = {**metadata["labels"], SCENARIO_LABEL: "true"}
    return {**manifest, "metadata": metadata}


def remove_leftovers(client: Client) -> None:
    """Deletes the jobs of earlier runs, which would hold quota, and waits until they are gone."""
    for job in client.list(kinds.RayJob, namespace="*", labels={SCENARIO_LABEL: "true"}):
        namespace, name = kinds.key(job)
        client.delete(kinds.RayJob, name, namespace=namespace)

    def gone() -> bool:
        return not any(client.list(kinds.RayJob, namespace="*", labels={SCENARIO_LABEL: "true"}))

    wait_until("deletion of an earlier run's RayJobs", gone, CLEAN_SECONDS_MAX)


def wait_for_policy(client: Client, manifest: Object) -> None:
    """Waits until the API server suspends queued jobs: it takes a new admission policy up with some delay."""

    def suspended() -> bool:
        tried = client.create(kinds.RayJob(manifest), dry_run=True)
        return bool(tried["spec"].get("suspend"))

    try:
        wait_until("suspension of queued RayJobs at creation", suspended, POLICY_SECONDS_MAX)
    except ApiError as error:
        raise StepError(f"the API server refuses the example: {error}") from error


class Scenario:
    """One run: submits, follows, shows."""

    def __init__(self, client: Client, console: Console, dev: Object, prod: Object) -> None:
        self._client, self._console = client, console
        self._manifests = [dev, prod]
        self._jobs = [JobRef(*kinds.key(m)) for m in self._manifests]
        self._progress = Progress(*self._jobs)
        self._timeline = Timeline()
        self._seen: queue.SimpleQueue[Seen] = queue.SimpleQueue()
        self._began = time.monotonic()

    def play(self, limit_seconds: float, check: Callable[[], None]) -> None:
        """Submits the dev job, and the production job once the dev job runs; returns when all is seen."""
        reflectors = [Reflector(self._client, kind, self._note).start() for kind in WATCHED]
        self._submit()
        # On a terminal the bars grow below the lines; elsewhere there are only the lines.
        with self._live():
            while not self._progress.done and self._elapsed() < limit_seconds:
                try:
                    reached = self._take(self._seen.get(timeout=0.25))
                except queue.Empty:
                    check()
                    continue
                # The first milestone: the dev job runs.
                if reached and self._manifests:
                    self._submit()
        for reflector in reflectors:
            reflector.stop()

    def report(self) -> bool:
        """Prints the table and the timeline, and what is missing; True if all went as it should."""
        milestones = self._progress.milestones()
        self._console.print(_table(milestones))
        self._console.print(self._bars(), markup=False)
        missed = [m for m in milestones if m.problem]
        for milestone in missed:
            self._console.print(f"NOT AS EXPECTED: {milestone.title}: {milestone.problem}", markup=False)
        if missed:
            for line in state_of(self._progress.world, self._jobs):
                self._console.print(line, markup=False)
        return not missed

    def _submit(self) -> None:
        manifest = self._manifests.pop(0)
        self._client.create(kinds.RayJob(manifest))
        labels = manifest["metadata"]["labels"]
        priority = labels["kueue.x-k8s.io/priority-class"]
        self._say(f"{manifest['metadata']['name']}: submitted, {priority}")

    def _note(self, kind: str, obj: Object, gone: bool) -> None:
        """Called by the reflectors' threads."""
        self._seen.put(Seen(self._elapsed(), kind, obj, gone))

    def _take(self, seen: Seen) -> list[Milestone]:
        reached = self._progress.see(seen)
        for ref in self._jobs:
            now = phase(self._progress.world, ref)
            if self._timeline.see(seen.at, ref.name, now) and now is not None:
                self._say(f"{ref.name}: {now.name.lower()}", seen.at)
        for milestone in reached:
            self._say(f"OK {milestone.title}: {milestone.detail}", seen.at)
        return reached

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _say(self, text: str, at: float | None = None) -> None:
        self._console.print(f"{self._elapsed() if at is None else at:6.1f} s  {text}", markup=False)

    def _live(self) -> AbstractContextManager[object]:
        if not self._console.is_terminal:
            return nullcontext()
        return Live(get_renderable=lambda: Text(self._bars()), console=self._console, transient=True)

    def _bars(self) -> str:
        return "\n".join(bars(self._timeline.changes, self._elapsed()))


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


def state_of(world: World, jobs: Sequence[JobRef]) -> list[str]:
    """What the scenario's objects say of themselves, for the report of a run that went wrong."""
    lines = []
    for ref in jobs:
        job, workload, request = world.job(ref), world.workload(ref), world.request(ref)
        statuses = " / ".join(filter(None, job_status(job))) or "no status"
        lines.append(f"RayJob {ref.namespace}/{ref.name}: {statuses if job else 'not there'}")
        for kind, obj in (("Workload", workload), ("ProvisioningRequest", request)):
            if obj:
                lines.append(f"  {kind} {kinds.key(obj)[1]}:")
            for c in (obj.get("status") or {}).get("conditions") or []:
                lines.append(f"    {c['type']}={c['status']} {c['reason']}: {c['message']}")
        lines.append(f"  pods: {len(world.pods(ref))}")
    return lines
