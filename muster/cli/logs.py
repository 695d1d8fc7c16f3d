"""`muster logs`: prints the logs of a job's pods."""

import asyncio
import sys
from collections.abc import AsyncIterator

import click

from muster.cli.acting import ClusterContext, run, target_options
from muster.cli.verb import verb
from muster.cluster.jobs.gang import HEAD
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.cluster.jobs.rayjob import SUBMITTER
from muster.kube.client import Kube
from muster.kube.kinds import PODS
from muster.live.acting.jobs import read_job, split
from muster.live.gang_pods import pods_of
from muster.live.observed import ObservationError

ALL = "all"


@verb(
    "Prints the logs of a job's pods from the API server: by default of a RayJob's submitter, else of the "
    "head. Exit codes: 0 success; 2 invalid input, no such pods, or refused by the API server."
)
@click.argument("job", metavar="KIND/NAME")
@click.option("--pod-set", metavar="NAME", help="head, submitter, a worker group's name, or all")
@click.option("-f", "--follow", is_flag=True, help="stream the logs until the pods end")
@click.option(
    "--tail", metavar="LINES", type=click.IntRange(min=0), help="print only the last LINES lines of each pod"
)
@click.option("-c", "--container", metavar="NAME", help="container to read if pods have several")
@target_options
def command(
    job: str,
    pod_set: str | None,
    follow: bool,
    tail: int | None,
    container: str | None,
    target: ClusterContext,
) -> int:
    """Prints the logs of the selected pods; returns the exit code."""
    options = {"follow": "true" if follow else None, "container": container}
    options["tailLines"] = None if tail is None else str(tail)
    parameters = {name: value for name, value in options.items() if value is not None}

    async def work(kube: Kube) -> None:
        kind, name = split(job)
        job_view = await read_job(kube, kind, f"{target.namespace}/{name}")
        created = [dependent.kind for dependent in JOB_KINDS if kind in dependent.created_by]
        lists = [await kube.list(dependent, namespace=target.namespace) for dependent in created]
        dependents = [obj for _, objects in lists for obj in objects]
        _, pods = await kube.list(PODS, namespace=target.namespace)
        names = chosen(pods_of(kind, job_view.obj, dependents, pods), pod_set)
        sources = (kube.log(f"{target.namespace}/{pod}", parameters) for pod in names)
        prefixes = [f"[{pod}] " if len(names) > 1 else "" for pod in names]
        if follow:
            await asyncio.gather(*(_print(s, p) for s, p in zip(sources, prefixes, strict=True)))
            return
        for source, prefix in zip(sources, prefixes, strict=True):
            await _print(source, prefix)

    run(target, work)
    return 0


async def _print(lines: AsyncIterator[bytes], prefix: str) -> None:
    async for line in lines:
        sys.stdout.write(f"{prefix}{line.decode(errors='replace')}\n")
        sys.stdout.flush()


def chosen(pods: dict[str, str], pod_set: str | None) -> list[str]:
    """Returns the pods of a pod set; by default the pods with the driver's output: the submitter, else the
    head, else the first pod set. Raises: ObservationError."""
    if not pods:
        raise ObservationError("the job has no pods: it waits for quota or has ended")
    sets = sorted(set(pods.values()))
    selected = pod_set or next((s for s in (SUBMITTER, HEAD) if s in sets), sets[0])
    names = [name for name, of in pods.items() if selected in (of, ALL)]
    if not names:
        raise ObservationError(
            f"the job has no pods in pod set {selected}; expected one of: {', '.join(sets)}, {ALL}"
        )
    return names
