"""Platforms of histories, and their network faults, by name."""

from typing import Any

from muster.configuration.configuration import DEFAULT, Configuration, Retention
from muster.kube.kinds import Kind
from tests.simulation.api import Body
from tests.simulation.elastic_gangs import platform
from tests.simulation.kube import CALM, Faults
from tests.simulation.manifests import NO_BORROWING, PREEMPTION, cluster_queue, local_stack, quotas, stack

NODES = 6


def shared_stack() -> dict[Kind[Any], list[Body]]:
    """Returns a stack without checks: team-a lends little, team-b borrows much in strict FIFO order."""
    cpu = quotas("cpu", cpu=20, memory="64Gi", gpu=0)
    lends = quotas("l4", cpu=16, memory="64Gi", gpu={"nominalQuota": "4", "lendingLimit": "2"})
    borrows = quotas("l4", cpu=16, memory="64Gi", gpu={"nominalQuota": "3", "borrowingLimit": "3"})
    division = {"metadata": {"name": "division"}, "spec": {"parentName": "ml"}}
    reclaims = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"}
    return stack(
        cluster_queue("team-a", cpu, lends, cohort="division", preemption=PREEMPTION),
        cluster_queue(
            "team-b", cpu, borrows, cohort="division", preemption=reclaims, queueingStrategy="StrictFIFO"
        ),
        cohorts=(division,),
    )


def alone_stack() -> dict[Kind[Any], list[Body]]:
    """Returns a stack with one queue and a check; newer gangs of the same priority are preempted."""
    cpu = quotas("cpu", cpu=8, memory="32Gi", gpu=0)
    gpu = quotas("l4", cpu=16, memory="64Gi", gpu=NO_BORROWING)
    newer = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    return stack(
        cluster_queue("team-a", cpu, gpu, check=True, preemption=newer), retry={"limit": 2, "base_s": 5}
    )


def growing_stack() -> dict[Kind[Any], list[Body]]:
    """Returns a stack with one queue and a check, whose quota is the minimum of an autoscaled gang and a few
    workers more."""
    return platform(6, check=True, retry={"limit": 2, "base_s": 5})


# "alone" deletes what has ended, the others keep it
CONFIGURATIONS = {
    "local": DEFAULT,
    "shared": DEFAULT,
    "growing": DEFAULT,
    "alone": Configuration(retention=Retention(after_finished_s=20, after_deactivated_s=40)),
}
STACKS = {"local": local_stack, "shared": shared_stack, "alone": alone_stack, "growing": growing_stack}
# families of actions that all histories of a stack draw from
ALWAYS = {"growing": ("elastic",)}
FAULTS = {
    "calm": CALM,
    "rough": Faults(killed=0.03, lost_answer=0.02, broken_watch=0.02, watch_lag_s=1.0),
}
# the queues in which a gang of the highest priority gets quota for this many workers by preemption alone
PROBES = {
    "local": {"team-a": 4},
    "shared": {"team-a": 4, "team-b": 3},
    "alone": {"team-a": 4},
    "growing": {"team-a": 4},
}
