"""An elastic gang and its surplus, and the admission that results from both."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import (
    Admission,
    PodSet,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
    TopologyRequest,
    Workload,
)
from muster.translation.elastic import REPLICAS_MAX, ElasticPodSet, grown, split

GPU = "nvidia.com/gpu"
HEAD = PodSet("head", 1, {"cpu": 500})


def ray(workers: int, *, admitted: bool = True, **fields: object) -> Workload:
    """A head and workers with two GPUs each, of which this many hold quota."""
    sizes = {"head": (1, {"cpu": 500}), "gpu": (workers, {GPU: 2 * workers})}
    flavors = {"head": {"cpu": "system"}, "gpu": {GPU: "l4"}}
    held = Admission(
        "q", tuple(PodSetAssignment(n, count, flavors[n], usage) for n, (count, usage) in sizes.items())
    )
    whole = Workload("ns/a", "uid", "q", 7, 3, (HEAD, PodSet("gpu", workers, {GPU: 2})), local_queue="ns/lq")
    whole = replace(whole, admission=held, reserved_at_ms=9) if admitted else whole
    return replace(whole, **fields)  # type: ignore[arg-type]


def elastic(asked: int, running: int = 0, minimum: int = 2, replica: int = 1) -> dict[str, ElasticPodSet]:
    return {"gpu": ElasticPodSet(minimum, replica, asked, running)}


def states(of: Workload, with_sizes: dict[str, ElasticPodSet]) -> list[str]:
    """The states of the surplus, in order."""
    _, *surplus = split(of, with_sizes)
    return [
        "asked" if replica.admission is None else "terminates" if replica.evicted else "held"
        for replica in surplus
    ]


@pytest.mark.parametrize(
    ("whole", "sizes", "expected"),
    [
        pytest.param(ray(2, admitted=False), elastic(8), [], id="pending: only the gang"),
        pytest.param(ray(2), elastic(2), [], id="at its minimum"),
        pytest.param(ray(2), elastic(4), ["asked"] * 2, id="asks for more"),
        pytest.param(ray(4), elastic(5, 4), ["held", "held", "asked"], id="has grown"),
        pytest.param(ray(4), elastic(3, 4), ["held", "held"], id="asks for less: held until the count falls"),
        pytest.param(ray(3), elastic(3, 5), ["held", "terminates", "terminates"], id="shrinks"),
        pytest.param(ray(4, evicted=True), elastic(9, 4), ["terminates"] * 2, id="is evicted"),
        pytest.param(ray(2), elastic(7, minimum=2, replica=2), ["asked"] * 2, id="whole replicas"),
        pytest.param(ray(2), elastic(2, 3, minimum=2, replica=2), ["terminates"], id="part of a replica"),
        pytest.param(ray(0), elastic(1, minimum=0), ["asked"], id="from zero"),
    ],
)
def test_surplus_holds_terminates_or_is_asked_for(
    whole: Workload, sizes: dict[str, ElasticPodSet], expected: list[str]
) -> None:
    assert states(whole, sizes) == expected


def test_the_gang_has_its_minimum_only() -> None:
    gang, *_ = split(ray(5), elastic(5))
    assert [p.count for p in gang.pod_sets] == [1, 2]
    assert gang.admission is not None
    assert [(a.count, dict(a.usage)) for a in gang.admission.pod_sets] == [(1, {"cpu": 500}), (2, {GPU: 4})]


def test_a_replica_has_the_place_and_the_flavors_of_its_gang() -> None:
    _, replica = split(ray(2), elastic(3))
    assert (replica.priority, replica.queued_at_ms, replica.local_queue) == (7, 3, "ns/lq")
    assert (replica.surplus_of, replica.pod_sets[0].name) == ("ns/a", "gpu")
    assert replica.allowed_flavors == ("l4",)
    assert replica.parked
    assert [(p.count, p.requests) for p in replica.pod_sets] == [(1, {GPU: 2})]


def test_growth_counts_as_the_pods_that_hold_quota() -> None:
    """Devices or defaults of LimitRanges may be counted differently since the gang was admitted."""
    now = (HEAD, PodSet("gpu", 2, {"example.com/fpga": 1}, node_requests={"cpu": 1000}))
    _, replica = split(ray(2, pod_sets=now), elastic(3))
    (pods,) = replica.pod_sets
    assert (pods.requests, pods.requests_of_nodes) == ({GPU: 2}, {"cpu": 1000})


@pytest.mark.parametrize(("workers", "refused"), [(0, "its claims can't be counted"), (2, "")])
def test_growth_from_zero_is_refused_as_the_gang_would_be(workers: int, refused: str) -> None:
    whole = ray(workers, refused="its claims can't be counted")
    _, replica = split(whole, elastic(workers + 1, minimum=workers))
    assert replica.refused == refused


def test_usage_of_surplus_counts_from_the_time_of_its_gang() -> None:
    _, held, asked = split(ray(3, counts_from_ms=11), elastic(4))
    assert (held.counts_from_ms, asked.counts_from_ms) == (11, 0)


def test_the_last_replica_is_preempted_first() -> None:
    _, *surplus = split(ray(14), elastic(14))
    assert sorted(surplus, key=lambda replica: replica.uid) == surplus[::-1]


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4))
def test_gang_and_surplus_add_up_to_the_whole(minimum: int, replicas: int, replica: int) -> None:
    whole = ray((minimum + replicas) * replica)
    gang, *surplus = split(whole, elastic(0, minimum=minimum * replica, replica=replica))
    assert gang.admission is not None
    held = [of.admission for of in surplus if of.admission is not None]
    assert len(held) == replicas
    assert grown(gang.admission, held) == whole.admission


def test_a_job_cannot_ask_for_more_replicas_than_can_be_counted() -> None:
    whole = ray(2)
    assert len(split(whole, elastic(2**31))) == 1 + REPLICAS_MAX


def test_placed_growth_waits_for_pods_that_terminate() -> None:
    """They would be granted its quota, and keep the nodes for which their preemptor waits."""
    request = TopologyRequest(required="rack")
    whole = ray(0)
    whole = replace(whole, pod_sets=(HEAD, replace(whole.pod_sets[1], topology=request)))
    leaving = TopologyAssignment(("rack", "slot"), (TopologyDomain(("r1", "s1"), 1),))
    _, terminates, *asked = split(whole, {"gpu": ElasticPodSet(0, 1, 2, running=1, placed=leaving)})
    assert terminates.admission is not None
    assert terminates.admission.pod_sets[0].topology == leaving
    assert asked == []
    _, first, *more = split(whole, {"gpu": ElasticPodSet(0, 1, 2)})
    assert (first.pod_sets[0].topology, more) == (request, []), "the first replica chooses the domain"
