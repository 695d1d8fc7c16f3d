from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from muster.admission import (
    Cohort,
    Flavor,
    FlavorQuotas,
    PodSet,
    Quota,
    Requirement,
    ResourceGroup,
    SliceConstraint,
    Snapshot,
    SnapshotError,
    TopologyRequest,
    decide,
)
from tests.unit.admission.builders import GPU, NOW_MS, cohort, pods, queue, running, snapshot, workload

SOUND = snapshot(queue("q", 4), workload("w", "q", 1))


def within(*groups: ResourceGroup) -> Snapshot:
    return snapshot(replace(queue("q"), groups=groups))


def asking(**fields: Any) -> Snapshot:
    return snapshot(queue("q", 4), workload("w", "q", pods(**fields)))


def sliced(*sizes: int) -> TopologyRequest:
    return TopologyRequest(required="rack", slices=tuple(SliceConstraint("host", size) for size in sizes))


def long_name() -> PodSet:
    return replace(pods(), requests={"x" * 318: 1})


L4 = FlavorQuotas("l4", {GPU: Quota(4)})
REFUSED = {
    "flavor under another name": (
        replace(SOUND, flavors={"l4": Flavor("t4")}),
        "ResourceFlavor t4: name: has the key 'l4'",
    ),
    "cohort under another name": (replace(SOUND, cohorts={"a": Cohort("b")}), "Cohort b: name"),
    "queue under another name": (replace(SOUND, cluster_queues={"a": queue("b")}), "ClusterQueue b: name"),
    "negative quota": (
        snapshot(queue("q", -1)),
        f"ClusterQueue q: nominal quota for {GPU} of flavor l4: is -1",
    ),
    "negative borrowing limit": (snapshot(queue("q", Quota(1, borrowing_limit=-1))), "borrowing limit"),
    "negative lending limit": (snapshot(queue("q", Quota(1, lending_limit=-1))), "lending limit"),
    "negative quota of a cohort": (
        snapshot(queue("q"), cohorts=[cohort("ml", None, {"l4": {GPU: -1}})]),
        "Cohort ml: nominal quota",
    ),
    "resource in two groups": (
        within(ResourceGroup((GPU,), (L4,)), ResourceGroup((GPU,), ())),
        "resource groups",
    ),
    "flavor twice in a group": (within(ResourceGroup((GPU,), (L4, L4))), "flavors: 'l4' occurs twice"),
    "no quota for a covered resource": (
        within(ResourceGroup((GPU, "cpu"), (L4,))),
        f"quota of flavor l4: expected one for each of: cpu, {GPU}",
    ),
    "workload twice": (
        snapshot(queue("q", 4), workload("w", "q", 1), workload("w", "q", 1, uid="other")),
        "snapshot: workloads: 'ns/w' occurs twice",
    ),
    "negative weight": (snapshot(queue("q", 4, weight=Fraction(-1, 2))), "fair sharing weight: is -1/2"),
    "no pod sets": (
        snapshot(queue("q", 4), workload("w", "q")),
        "Workload ns/w: pod sets: expected at least one",
    ),
    "pod set twice": (snapshot(queue("q", 4), workload("w", "q", 1, 1)), "'workers' occurs twice"),
    "negative count": (asking(count=-1), "count of pod set workers: is -1"),
    "fewer pods than none will do": (asking(count=2, count_min=-1), "count_min of pod set workers: is -1"),
    "more pods at least than at most": (
        asking(count=2, count_min=3),
        "count_min of pod set workers: is 3; expected 0 to its count, 2",
    ),
    "more pods done than there are": (asking(count=2, reclaimable=3), "reclaimable of pod set workers: is 3"),
    "slices of no pods": (asking(topology=sliced(0)), "slices of pod set workers: sizes are [0]"),
    "slices of slices of no pods": (
        asking(topology=sliced(2, 0)),
        "slices of pod set workers: sizes are [2, 0]",
    ),
    "slices that are not made of whole ones": (
        asking(topology=sliced(4, 3)),
        "sizes are [4, 3]; expected each to be a multiple of the next",
    ),
    "a resource whose name no API server takes": (
        snapshot(queue("q", 4), replace(workload("w", "q", 1), pod_sets=(long_name(),))),
        "has a name of more than 317 characters",
    ),
    "more than can be counted": (
        asking(gpu=2**62, count=2),
        f"requests of pod set workers: {GPU} of all its pods exceeds the maximum that can be counted",
    ),
    "negative request": (asking(gpu=-2), f"requests of pod set workers: {GPU} is -2"),
    "negative usage": (
        snapshot(queue("q", 4), replace(running("w", gpu=-1), pod_sets=(pods(),))),
        "usage of pod set workers",
    ),
    "negative time": (snapshot(queue("q", 4), workload("w", "q", 1, queued_at_ms=-1)), "queued_at_ms: is -1"),
    "unknown operator": (
        asking(affinity=((Requirement("pool", "Near", ("l4",)),),)),
        "operator 'Near'; expected one of: DoesNotExist, Exists, Gt, In, Lt, NotIn",
    ),
    "Gt of two values": (
        asking(affinity=((Requirement("gpus", "Gt", ("1", "2")),),)),
        "expected one value",
    ),
}


@pytest.mark.parametrize(("of", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refusal_names_its_reason(of: Snapshot, message: str) -> None:
    with pytest.raises(SnapshotError) as refused:
        decide(of, NOW_MS)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{refused.value.where}: {refused.value.field}: ")


def test_sound_snapshot_passes() -> None:
    several = Requirement("pool", "In", ("l4", "t4")), Requirement("gpus", "Gt", ("1",))
    assert decide(asking(gpu=1, affinity=(several, several)), NOW_MS).admissions


SOUND_LIMITS = {
    "slices of one pod": asking(gpu=1, topology=sliced(1)),
    "as few pods as none": asking(count=2, gpu=1, count_min=0),
    "as few pods as all": asking(count=2, gpu=1, count_min=2),
    "all pods done": asking(count=2, gpu=1, reclaimable=2),
    "a request of nothing": asking(gpu=0),
    "a run time of a millisecond": snapshot(queue("q", 4), workload("w", "q", 1, run_time_ms=1)),
    "queued at the epoch": snapshot(queue("q", 4), workload("w", "q", 1, queued_at_ms=0)),
    "no quota": snapshot(queue("q", Quota(0, borrowing_limit=0, lending_limit=0))),
    "a weight of nothing": snapshot(queue("q", 4, weight=Fraction(0))),
}


@pytest.mark.parametrize("of", SOUND_LIMITS.values(), ids=SOUND_LIMITS.keys())
def test_the_smallest_that_is_sound_passes(of: Snapshot) -> None:
    decide(of, NOW_MS)
