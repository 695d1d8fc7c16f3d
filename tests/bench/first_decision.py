"""The first decision where queues reclaim from each other.

3,000 gangs of 60 queues in one cohort are pending, and nothing runs. There is quota for four fifths of them,
half of it on each of two flavors. Queues borrow what others then reclaim: the decision takes back many of its
own admissions, and each cycle that does so ends a pass.

In such a cycle nearly all heads want the same victim. By default, as in Kueue, the first of them gets it and
the others skip the cycle; with the gate RecomputeAssignmentUponPreemptionTargetsOverlap they look for other
victims, so that one cycle does the work of several.
"""

import time
from dataclasses import replace
from unittest.mock import patch

from muster.admission import ClusterQueue, Flavor, FlavorQuotas, Quota, ResourceGroup, Rules, Snapshot, decide
from muster.admission.engine.heads import HeadSelector
from tests.bench.decisions import BORROWED_CPUS_MAX, CONTENDED_CPUS, CPU, NOW_MS, load
from tests.bench.report import Figure, show

GANGS = 3_000
FLAVORS = ("reserved", "spot")
PASSES_MAX = 100


def gangs() -> Snapshot:
    of = load(GANGS, CONTENDED_CPUS)
    queues = {name: _with_flavors(queue) for name, queue in of.cluster_queues.items()}
    return replace(of, flavors={name: Flavor(name) for name in FLAVORS}, cluster_queues=queues)


def _with_flavors(queue: ClusterQueue) -> ClusterQueue:
    quota = Quota(CONTENDED_CPUS * CPU // len(FLAVORS), borrowing_limit=BORROWED_CPUS_MAX * CPU)
    flavors = tuple(FlavorQuotas(name, {"cpu": quota}) for name in FLAVORS)
    return replace(queue, groups=(ResourceGroup(("cpu",), flavors),))


def figures() -> list[Figure]:
    snapshot = gangs()
    began = time.process_time()
    admitted = len(decide(snapshot, NOW_MS).admissions)
    cpu_s = time.process_time() - began
    what = f"{GANGS:,} gangs, two flavors, queues reclaim: the first decision"
    return [
        Figure(f"{what}: {admitted:,} admitted", cpu_s, "s"),
        Figure(f"{what}: passes", _passes(snapshot, Rules()), "", limit=PASSES_MAX),
        Figure(f"{what}: passes with the gate", _passes(snapshot, Rules(recompute_overlapping=True)), ""),
    ]


def _passes(snapshot: Snapshot, rules: Rules) -> int:
    open_queues = HeadSelector.queues_to_open  # once a pass
    with patch.object(HeadSelector, "queues_to_open", autospec=True, side_effect=open_queues) as opened:
        decide(snapshot, NOW_MS, rules)
    return opened.call_count


if __name__ == "__main__":
    show("First decision", figures())
