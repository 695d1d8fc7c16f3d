"""Generates a history from a seed: its families of actions, its length, and when each action happens.

Each history draws from a few families only: rare actions coincide more often than with draws from all.
"""

from collections.abc import Collection, Mapping
from random import Random

from muster.kube import kinds
from tests.simulation.histories import (
    administrators,
    batch_jobs,
    elastic,
    faults,
    hostile,
    job_sets,
    leader_worker_sets,
    tenants,
    without_jobs,
)
from tests.simulation.histories.actions import Act, Draw
from tests.simulation.histories.history import Action, History
from tests.simulation.histories.stacks import ALWAYS, FAULTS, STACKS

PAUSE_S_MAX = 15.0
TOGETHER_S = 0.1
LENGTHS = ((6, (2, 6)), (3, (7, 14)), (1, (15, 40)))  # weight, number of actions

# family -> the share of histories with it, its actions
FAMILIES: Mapping[str, tuple[float, Mapping[str, Act]]] = {
    "tenants": (1.0, tenants.ACTIONS),
    "hostile": (0.4, hostile.HOSTILE),
    "pods": (0.15, hostile.PODS),
    "strangers": (0.15, hostile.STRANGERS),
    "lingering": (0.15, hostile.LINGERING),
    "quotas": (0.25, administrators.QUOTAS),
    "unreadable": (0.15, administrators.UNREADABLE),
    "configuration": (0.15, administrators.CONFIGURATION_DELETED),
    "restored": (0.2, administrators.RESTORED),
    "cohorts": (0.1, administrators.COHORTS),
    "classes": (0.15, administrators.CLASSES),
    "network": (0.3, faults.NETWORK),
    "clocks": (0.15, faults.CLOCKS),
    "processes": (0.3, faults.PROCESSES),
    "deletions": (0.3, faults.DELETIONS),
    "without jobs": (0.4, without_jobs.WITHOUT_JOBS),
    "orphaned": (0.15, without_jobs.ORPHANED),
    "etcd": (0.15, faults.ETCD),
    "elastic": (0.35, elastic.ELASTIC),
    "jobs": (0.5, batch_jobs.JOBS),
    "job sets": (0.4, job_sets.JOB_SETS),
    "leader worker sets": (0.4, leader_worker_sets.LEADER_WORKER_SETS),
}
ACTIONS: Mapping[str, Act] = {name: act for _, acts in FAMILIES.values() for name, act in acts.items()}


def generate(seed: int, without: Collection[str] = ()) -> History:
    """Returns the history of a seed; `without`: names of excluded actions."""
    random = Random(f"history/{seed}")
    stack = random.choice(sorted(STACKS))
    namespaces = tuple(n["metadata"]["name"] for n in STACKS[stack]()[kinds.NAMESPACES])
    draw = Draw(random, namespaces)
    acts = _chosen(random, without, ALWAYS.get(stack, ()))
    bounds = random.choices([b for _, b in LENGTHS], [w for w, _ in LENGTHS])[0]
    return History(
        seed=seed,
        stack=stack,
        faults=random.choice(sorted(FAULTS)),
        replicas=random.choice((1, 1, 1, 2)),
        actions=tuple(_action(random, draw, acts) for _ in range(random.randint(*bounds))),
    )


def _chosen(
    random: Random, without: Collection[str], always: Collection[str]
) -> Mapping[str, tuple[float, Act]]:
    """Returns this history's actions with their weights. The families `always` weigh as much as the tenants',
    and as much as all others together, most of which are faults."""
    families = {name: acts for name, (share, acts) in FAMILIES.items() if random.random() < share}
    families |= {name: FAMILIES[name][1] for name in always}
    chosen: dict[str, tuple[float, Act]] = {}
    for name, acts in families.items():
        remaining = {action: act for action, act in acts.items() if action not in without}
        total = sum(act.weight for act in remaining.values())
        weight = 1.0 if name in ("tenants", *always) else 1.0 / max(1, len(families) - 1 - len(always))
        chosen |= {action: (weight * act.weight / total, act) for action, act in remaining.items()}
    return chosen


def _action(random: Random, draw: Draw, acts: Mapping[str, tuple[float, Act]]) -> Action:
    # half of the actions follow immediately: bugs need coincidences
    after_s = random.choice((TOGETHER_S, round(random.uniform(0, PAUSE_S_MAX), 2)))
    names, weights = list(acts), [weight for weight, _ in acts.values()]
    while True:
        name = random.choices(names, weights)[0]
        try:
            return Action(after_s, name, acts[name][1].draw(draw))
        except LookupError:
            continue
