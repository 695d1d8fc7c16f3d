"""A small stack file, its candidates, and jobs that need more than it has."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from muster.cli.recommend_stack import build
from muster.forecast.costs.prices import Prices
from muster.forecast.limits import WaitLimit
from muster.forecast.placement import PlacedJob, place
from muster.forecast.recommend.candidates import Built, Candidate, Candidates
from muster.forecast.recommend.goals import Measured, parse_goal
from muster.forecast.recommend.scores import Score, score
from muster.forecast.recommend.tasks import SearchInputs
from muster.forecast.recommend.variables import parse_variables
from tests.unit.forecast.builders import AT_ONCE, job

STACK = """\
# Two teams that share sixteen GPUs.
config:
  muster:environment: local
  muster:cluster: {kind: existing, name: sandbox}
  muster:kuberay: {install: existing}
  muster:controller:
    image: "muster-controller:sandbox"
    fairSharing: {}

  muster:pools:
    - name: system
      flavor: cpu
      machineType: e2-standard-4
      nodes: {min: 2, max: 2}
    - name: l4   # one GPU a node
      machineType: g2-standard-4
      gpu: {type: nvidia-l4, count: 1}
      nodes: {max: 16}  # of the reservation

  muster:admission:
    priorities: {high: 1000, low: 100}

  muster:queues:
    cohorts:
      - name: ml
    clusterQueues:
      - name: a   # serving
        cohort: ml
        quotas:
          cpu: {cpu: 8, memory: 32Gi}
          l4: {cpu: 16, memory: 40Gi, nvidia.com/gpu: 8}

        preemption: {withinClusterQueue: LowerPriority}
      - name: b
        cohort: ml
        quotas:
          l4:
            cpu: 16
            # what others may not use
            nvidia.com/gpu:
              nominal: 8   # half of all
              lendingLimit: 4

  muster:tenants:
    - namespace: team-a
      queues: {user-queue: a}
    - namespace: team-b
      queues: {user-queue: b}
"""
CONFIG: dict[str, Any] = yaml.safe_load(STACK)["config"]
JOBS = [job(f"{queue}{n}", 60 * n, 600, gpus=4, queue=queue) for n in range(12) for queue in ("a", "b")]
"""Each minute, each team submits a gang of four GPUs that runs for ten."""


def built(config: Mapping[str, Any]) -> Built:
    return build(config, "test")


def candidates(*vary: str, config: Mapping[str, Any] = CONFIG, prices: Prices | None = None) -> Candidates:
    return Candidates(config, parse_variables(vary, config), built, prices or Prices())


def goals(*texts: str) -> Sequence[WaitLimit]:
    return [parse_goal(text) for text in texts]


def request(*texts: str) -> SearchInputs:
    return SearchInputs(placed(), AT_ONCE, goals(*texts))


def placed() -> Sequence[PlacedJob]:
    return place(JOBS, built(CONFIG).configuration).jobs


def waits(*values: float, wait_s: float = 0, never: int = 0) -> Measured:
    return Measured(values, wait_s, never)


def scored(
    cost: float, value_s: float, wait_s: float = 0, never: int = 0, size: tuple[int, int] = (0, 0)
) -> Score:
    """A candidate of this cost under the goal of waiting a minute; no job never starts at present."""
    unscored = Candidate({}, {}, built(CONFIG), {}, cost, *size)
    return score(unscored, [waits(value_s, wait_s=wait_s, never=never)], goals("mean <= 60s"), 0)
