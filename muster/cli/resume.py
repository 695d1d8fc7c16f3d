"""`muster resume`: resumes or retries a job, or resumes a queue."""

import time

import click

from muster.cli.acting import ClusterContext, run, target_options
from muster.cli.stop import QUEUES, WHAT, set_policy
from muster.cli.verb import verb
from muster.kube.client import Kube
from muster.live.acting.jobs import read_job, split
from muster.live.acting.stops import RUN, resume_job


@verb(
    "Resumes a stopped job (`workload KIND/NAME`), a ClusterQueue (`queue NAME`) or a LocalQueue "
    "(`localqueue NAME`). A job that is not stopped is retried: its requeue backoff ends, or it is "
    "reactivated after too many attempts (annotation muster.dev/retry). Exit codes: 0 success; 2 invalid "
    "input, or refused by the API server."
)
@click.argument("what", metavar="workload|queue|localqueue", type=WHAT)
@click.argument("name", metavar="NAME")
@target_options
def command(what: str, name: str, target: ClusterContext) -> int:
    """Resumes or retries a job, or resumes a queue; returns the exit code."""

    async def work(kube: Kube) -> str:
        if what in QUEUES:
            return await set_policy(kube, what, name, target, RUN)
        kind, job_name = split(name)
        job = await read_job(kube, kind, f"{target.namespace}/{job_name}")
        sentence, write = resume_job(job, time.time_ns() // 1_000_000)
        await kube.perform(write)
        return f"{kind} {job.metadata.key} {sentence}"

    print(run(target, work))
    return 0
