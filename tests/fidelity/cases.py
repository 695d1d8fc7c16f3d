"""Traces and the queues that they are submitted to, small enough to run in real time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.fidelity.history import Job
from tests.simulation.manifests import cluster_queue, quotas, stack

Body = dict[str, Any]
STEP_S = 180
"""Between submissions, at least. A run in real time is compressed by no more than that: the API's times are
whole seconds, and jobs of the same second would have no order."""
GANGS = (1, 1, 2, 2, 4, 8)
CLASSES = ("dev-priority", "prod-priority")
SEED, RECLAIMING_SEED = 4, 28
"""Seeds with which the means hardly change if each job runs a few seconds longer, and if ties of UIDs fall
otherwise (tests/unit/fidelity): of a trace in which one early decision moves all later ones, a comparison
would say little about the forecast."""
PROVISIONED_S = 300.0
FAIR = '{"fairSharing": {}}'


@dataclass(frozen=True)
class Case:
    """`delay_s` is the cloud's until it provides nodes; only cases with a check have nodes to wait for."""

    name: str
    stack: Mapping[Kind[Any], list[Body]]
    jobs: tuple[Job, ...]
    controller: str = "{}"
    delay_s: float = 0.0

    @property
    def manifests(self) -> list[Body]:
        """The stack's objects, complete as for an API server."""
        return [
            {"apiVersion": kind.api_version, "kind": kind.name, **body}
            for kind, bodies in self.stack.items()
            for body in bodies
        ]

    @property
    def gpus(self) -> int:
        """The quota of all queues."""
        return sum(
            int(resource["nominalQuota"])
            for queue in self.stack[kinds.CLUSTER_QUEUES]
            for quota in queue["spec"]["resourceGroups"][0]["flavors"]
            for resource in quota["resources"]
            if "/" in resource["name"]
        )


@dataclass(frozen=True)
class Team:
    """A queue that gets `share` of the jobs (a weight), of which a share of `prod` is of the high class."""

    queue: str
    gpus: int
    share: float = 1.0
    prod: float = 0.0
    spec: Mapping[str, Any] = field(default_factory=dict)


def drawn(teams: Sequence[Team], count: int, load: float, seed: int) -> tuple[Job, ...]:
    """Draws jobs whose work is `load` of the quota; run times are exponential, of ten seconds or more."""
    random = Random(f"{seed}/jobs")
    shares = [team.share for team in teams]
    gap_s = STEP_S * 1.25
    mean_run_s = load * sum(t.gpus for t in teams) * gap_s / (sum(GANGS) / len(GANGS))
    jobs, submit_s = [], 0
    for number in range(count):
        submit_s += STEP_S * random.choice((1, 1, 1, 2))
        (team,) = random.choices(teams, shares)
        jobs.append(
            Job(
                name=f"{team.queue}-{number:03d}",
                submit_s=submit_s,
                run_s=max(10, round(random.expovariate(1 / mean_run_s))),
                workers=random.choice(GANGS),
                queue=team.queue,
                priority_class=CLASSES[random.random() < team.prod],
            )
        )
    return tuple(jobs)


def case(
    name: str,
    *teams: Team,
    count: int = 150,
    load: float = 1.2,
    seed: int = SEED,
    check: bool = False,
    controller: str = "{}",
) -> Case:
    """Returns a case whose teams share a cohort."""
    queues = [_queue(name, team, check) for team in teams]
    cohort: Body = {"metadata": {"name": name}, "spec": {}}
    jobs = drawn(teams, count, load, seed)
    return Case(name, stack(*queues, cohorts=(cohort,)), jobs, controller, PROVISIONED_S * check)


def _queue(cohort: str, team: Team, check: bool) -> Body:
    cpu = quotas("cpu", cpu=10_000, memory="20000Gi", gpu=0)
    l4 = quotas("l4", cpu=10_000, memory="20000Gi", gpu=team.gpus)
    queue_body = cluster_queue(team.queue, cpu, l4, cohort=cohort, check=check, **team.spec)
    if not check:
        del queue_body["spec"]["admissionChecksStrategy"]  # the API server refuses an empty list
    return queue_body


WITHIN = {"preemption": {"withinClusterQueue": "LowerPriority"}}
RECLAIM = {"preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}}


def cases(count: int) -> list[Case]:
    return [
        case("fifo", Team("fifo-a", 32), count=count, load=1.1),
        case("strict", Team("strict-a", 32, spec={"queueingStrategy": "StrictFIFO"}), count=count),
        case(
            "cohort",
            Team("cohort-a", 16, 3, spec=RECLAIM),
            Team("cohort-b", 16, 2, spec=RECLAIM),
            Team("cohort-c", 16, 1, spec=RECLAIM),
            count=count,
            load=1.1,
            seed=RECLAIMING_SEED,
        ),
        case("priority", Team("priority-a", 32, prod=0.8, spec=WITHIN), count=count, load=1.0),
        case("provision", Team("provision-a", 32), count=count, check=True),
        case(
            "fair",
            Team("fair-a", 16, 3, spec={**RECLAIM, "fairSharing": {"weight": "2"}}),
            Team("fair-b", 16, 2, spec=RECLAIM),
            Team("fair-c", 16, 1, spec=RECLAIM),
            count=count,
            load=1.1,
            seed=RECLAIMING_SEED,
            controller=FAIR,
        ),
    ]
