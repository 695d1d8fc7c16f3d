"""The surroundings of a storm: which jobs run, where, and how long they may take."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from sandbox.cluster.kinds import Object
from tools.toolchain.paths import CHECKOUT


@dataclass(frozen=True)
class Setting:
    """`jobs_at_once_max`: unfinished jobs; more would only wait. `settles_s_max`: the time in which all jobs
    must finish after the last fault. `real_nodes`: names of nodes that are killed."""

    jobs: Callable[[Random], Iterator[Object]]
    namespaces: tuple[str, ...]
    trouble_s: tuple[float, float]
    jobs_at_once_max: int
    settles_s_max: float
    real_nodes: tuple[str, ...] = ()


def _gpu_jobs(random: Random) -> Iterator[Object]:
    """Yields variants of the dev example: sizes that fit a queue, and a few seconds of simulated work."""
    for job in _variants("dev-finetune.rayjob.yaml", SIMULATED.namespaces, random):
        job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = str(random.choice((1, 2, 5)))
        workers = random.choice((1, 2, 4))
        for group in job["spec"]["rayClusterSpec"]["workerGroupSpecs"]:
            group["replicas"] = group["minReplicas"] = group["maxReplicas"] = workers
        yield job


def _cpu_jobs(random: Random) -> Iterator[Object]:
    """Yields jobs that Ray executes in pods; only one of them fits the queue at a time."""
    return _variants("cpu-batch.rayjob.yaml", REAL_NAMESPACES, random)


def _variants(example: str, namespaces: tuple[str, ...], random: Random) -> Iterator[dict[str, Any]]:
    """Yields the RayJob of an example, in any of the namespaces, and with either priority."""
    content = yaml.safe_load(Path(CHECKOUT / "examples" / example).read_text())
    number = 0
    while True:
        number += 1
        job: dict[str, Any] = copy.deepcopy(content)
        meta = job["metadata"]
        del meta["generateName"]
        meta["name"], meta["namespace"] = f"storm-{number}", random.choice(namespaces)
        meta["labels"]["kueue.x-k8s.io/priority-class"] = random.choice(("dev-priority", "prod-priority"))
        yield job


SIMULATED = Setting(
    jobs=_gpu_jobs,
    namespaces=("team-a", "team-b"),
    trouble_s=(0.5, 6.0),
    jobs_at_once_max=12,
    settles_s_max=180.0,
)
REAL_NAMESPACES = ("team-a",)  # the only one whose quota is that of the machine


def real(nodes: tuple[str, ...]) -> Setting:
    """Returns the surroundings with these real nodes, where a job takes a minute."""
    return Setting(
        jobs=_cpu_jobs,
        namespaces=REAL_NAMESPACES,
        trouble_s=(2.0, 90.0),  # a node that is lost for less than 50 s has only restarted
        jobs_at_once_max=3,
        settles_s_max=900.0,
        real_nodes=nodes,
    )
