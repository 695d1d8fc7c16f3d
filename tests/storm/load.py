"""Jobs that are submitted during faults, and the wait for their end afterwards."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TextIO

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError

from muster.kube import kinds as ours
from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.processes import wait_until
from tests.storm import verdict
from tools.toolchain.steps import StepError

CONFIGURATION: dict[ours.Kind[Any], kinds.Kind] = {
    ours.CLUSTER_QUEUES: kinds.ClusterQueue,
    ours.LOCAL_QUEUES: kinds.LocalQueue,
    ours.COHORTS: kinds.Cohort,
    ours.PRIORITIES: kinds.WorkloadPriorityClass,
}


class Fault(NamedTuple):
    """A fault with its duration in seconds; `during` begins and ends it."""

    name: str
    lasts_s: float
    during: contextlib.AbstractContextManager[None]


@dataclass
class Load:
    """Jobs to submit, of which at most `unfinished_max` are unfinished at a time: more would only wait.

    `keep` restarts processes that have ended, as their supervisors would.
    """

    client: Client
    jobs: Iterator[Object]
    unfinished_max: int
    keep: Callable[[], None]
    submitted: int = 0

    def submit(self) -> None:
        """Submits a job, unless there are enough or the API server does not respond."""
        with contextlib.suppress(ApiError, httpx2.HTTPError):
            if len(verdict.unended(self.client.list(kinds.RayJob, namespace="*"))) < self.unfinished_max:
                self.client.create(kinds.RayJob(next(self.jobs)))
                self.submitted += 1

    def run(self, next_fault: Callable[[], Fault], seconds: float, random: Random, out: TextIO) -> None:
        """Submits jobs during faults, for this time."""
        end = time.monotonic() + seconds
        while (left_s := end - time.monotonic()) > 0:
            self.keep()
            fault = next_fault()
            lasts_s = min(left_s, fault.lasts_s)
            print(f"  {fault.name} for {lasts_s:.1f} s", file=out, flush=True)
            with fault.during:
                until = time.monotonic() + lasts_s
                while time.monotonic() < until:
                    self.submit()
                    time.sleep(random.uniform(0.2, 1.0))

    def settle(self, seconds_max: float) -> dict[str, str]:
        """Returns the states of jobs that have not finished although the faults have ended."""
        unsettled = {"the API server": "not responding"}

        def settled() -> bool:
            nonlocal unsettled
            self.keep()
            with contextlib.suppress(ApiError, httpx2.HTTPError):
                unsettled = verdict.unended(self.client.list(kinds.RayJob, namespace="*"))
            return not unsettled

        with contextlib.suppress(StepError):
            wait_until("the end of all jobs", settled, seconds_max, pause_seconds=1.0)
        return unsettled


def configuration(client: Client) -> list[tuple[ours.Kind[Any], Object]]:
    """Returns the queues, cohorts and priorities, by kind."""
    return [
        (kind, dict(obj))
        for kind, resource in CONFIGURATION.items()
        for obj in client.list(resource, namespace="*" if kind.namespaced else None)
    ]
