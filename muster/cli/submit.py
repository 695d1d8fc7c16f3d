"""`muster submit`: creates a job and follows it until it runs."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from muster.cli.acting import ClusterContext, run, target_options
from muster.cli.paths import InputPath
from muster.cli.terminal import visible
from muster.cli.try_ import read_job as read_manifest
from muster.cli.verb import InputError, verb
from muster.cluster.jobs.kinds import BY_KIND, alternatives, kind_of, listed
from muster.kube.client import Kube
from muster.kube.kinds import Kind
from muster.kube.writes import Create
from muster.live.acting.jobs import read_job
from muster.live.acting.progress import JobProgress, JobStage, progress

FAILED, WAITS, REFUSED = 1, 4, 5
WAIT = {"created": None, "running": JobStage.RUNNING, "finished": JobStage.ENDED}
INTERVAL_S = 1.0


@verb(
    f"Creates a {alternatives()} and prints its progress until it runs: queue position and "
    f"reason to wait, admission, start. Exit codes: 0 it reached the state in --wait; {FAILED} it failed; "
    f"{WAITS} it is still pending or starting after --timeout; {REFUSED} it cannot be admitted in its "
    "current form; 2 invalid input, or refused by the API server. Except for code 2, the job stays in the "
    "cluster."
)
@click.argument("filename", metavar="FILE", type=InputPath(str))
@click.option("--wait", type=click.Choice(list(WAIT)), default="running", help="state to wait for")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    help="how long to wait (default: no timeout)",
)
@target_options
def command(filename: str, wait: str, timeout: float | None, target: ClusterContext) -> int:
    """Creates a job and follows it to the state in `wait`; returns the exit code."""
    manifest = read_manifest(filename)

    async def work(kube: Kube) -> int:
        kind, body = prepared(manifest, target.namespace)
        created = await kube.perform(Create(kind, body))
        assert created is not None, "only deletions return nothing"
        print(f"{kind} {created.key} created", flush=True)
        until = WAIT[wait]
        return 0 if until is None else await _follow(kube, kind, created.key, until, timeout)

    return run(target, work)


def prepared(manifest: Mapping[str, Any], namespace: str) -> tuple[Kind[Any], Mapping[str, Any]]:
    """Returns the kind of a manifest, and the manifest with its namespace. Raises: InputError."""
    kind = kind_of(manifest)
    if kind is None:
        name = manifest.get("kind") or "an object without kind"
        raise InputError(f"{name}: expected one of {listed(BY_KIND)}")
    meta = manifest.get("metadata")
    if not isinstance(meta, Mapping) or not (meta.get("name") or meta.get("generateName")):
        raise InputError(f"{kind} without metadata.name")
    return kind, {**manifest, "metadata": {"namespace": namespace, **meta}}


async def _follow(kube: Kube, kind: Kind[Any], key: str, until: JobStage, timeout_s: float | None) -> int:
    """Prints each change of the progress; returns the exit code."""
    show, began_s = _printer(), time.monotonic()
    while True:
        job_progress = progress(await read_job(kube, kind, key))
        show(job_progress.sentence)
        code = exit_code(job_progress, until)
        if code is None and timeout_s is not None and time.monotonic() - began_s >= timeout_s:
            code = WAITS
        if code is not None:
            if sys.stdout.isatty():
                print()
            return code
        await asyncio.sleep(INTERVAL_S)


def exit_code(job_progress: JobProgress, until: JobStage) -> int | None:
    """Returns the exit code; None while the job has yet to reach `until`."""
    if job_progress.failed:
        return FAILED
    if job_progress.refused:
        return REFUSED
    return 0 if job_progress.stage >= until else None


def _printer() -> Callable[[str], None]:
    """Returns a function that prints a line if it differs from the last one, which it overwrites on a
    terminal."""
    last = ""

    def show(sentence: str) -> None:
        nonlocal last
        if (line := visible(sentence)) == last:
            return
        last = line
        print(f"\r\x1b[K{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n")
        sys.stdout.flush()

    return show
