"""`muster stop`: stops a job, or a queue."""

from collections.abc import Mapping
from typing import Any

import click

from muster.cli.acting import ClusterContext, run, target_options
from muster.cli.verb import InputError, verb
from muster.kube.client import Kube
from muster.kube.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, Kind
from muster.live.acting.jobs import read_job, split
from muster.live.acting.stops import DRAIN, HOLD, stop_job, stop_queue

WHAT = click.Choice(["workload", "queue", "localqueue"])
QUEUES: Mapping[str, Kind[Any]] = {"queue": CLUSTER_QUEUES, "localqueue": LOCAL_QUEUES}


@verb(
    "Stops a job (`workload KIND/NAME`) with the annotation muster.dev/stop: its pods are deleted, its "
    "quota is released, and it waits until it is resumed. Or stops a ClusterQueue (`queue NAME`) or a "
    "LocalQueue (`localqueue NAME`): it admits no workloads, and admitted ones are evicted. Exit codes: 0 "
    "success; 2 invalid input, or refused by the API server."
)
@click.argument("what", metavar="workload|queue|localqueue", type=WHAT)
@click.argument("name", metavar="NAME")
@click.option(
    "--keep-running", is_flag=True, help="for queues: do not evict admitted workloads (stopPolicy Hold)"
)
@target_options
def command(what: str, name: str, keep_running: bool, target: ClusterContext) -> int:
    """Stops a job or a queue; returns the exit code."""
    if what == "workload" and keep_running:
        raise click.UsageError("--keep-running is for queues")

    async def work(kube: Kube) -> str:
        if what in QUEUES:
            return await set_policy(kube, what, name, target, HOLD if keep_running else DRAIN)
        kind, job_name = split(name)
        job = await read_job(kube, kind, f"{target.namespace}/{job_name}")
        await kube.perform(stop_job(job))
        return f"{kind} {job.metadata.key} is stopped; resume it with: muster resume workload {name}"

    print(run(target, work))
    return 0


async def set_policy(kube: Kube, what: str, name: str, target: ClusterContext, policy: str) -> str:
    """Sets the stop policy of a queue; returns a message about it. Raises: InputError."""
    kind = QUEUES[what]
    key = f"{target.namespace}/{name}" if kind.namespaced else name
    queue = await kube.read(kind, key)
    if queue is None:
        where = f"namespace {target.namespace}" if kind.namespaced else "the cluster"
        raise InputError(f"{where} has no {kind} {name}")
    await kube.perform(stop_queue(kind, queue, policy))
    return f"{kind} {key} has stopPolicy {policy}"
