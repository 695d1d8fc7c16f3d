"""Whatever gangs come: hosts are never overfull, and what is decided once is not decided again."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import HOSTNAME, Flavor, PreemptionPolicy, Snapshot, TopologyRequest, Workload, decide
from muster.admission.engine.engine import Engine
from tests.unit.admission.builders import GPU, NOW_MS, host, pods, queue, snapshot, withdrawn, workload
from tests.unit.admission.strategies import examples

HOSTS = tuple(host(f"h{number}", gpu=4 + 4 * (number % 2), rack=f"r{number % 3}") for number in range(6))
QUEUES = [
    queue(
        name,
        {"tpu": {GPU: 24}, "v5": {GPU: 8}},
        cohort="c",
        within_queue=PreemptionPolicy.LOWER_PRIORITY,
        reclaim_within_cohort=PreemptionPolicy.ANY,
    )
    for name in "ab"
]
FLAVORS = [Flavor("tpu", topology="racks"), Flavor("v5", topology="racks")]
NEAR = [
    None,
    TopologyRequest(required="rack"),
    TopologyRequest(preferred="rack"),
    TopologyRequest(required=HOSTNAME),
    TopologyRequest(unconstrained=True),
]

Gang = tuple[str, int, list[tuple[int, int]], TopologyRequest | None, bool]
gangs = st.tuples(
    st.sampled_from("ab"),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([1, 2, 4, 8])), min_size=1, max_size=2),
    st.sampled_from(NEAR),
    st.booleans(),
)


def workload_of(number: int, gang: Gang) -> Workload:
    in_queue, priority, shapes, near, partial = gang
    sets = (
        pods(f"p{index}", count, gpu, topology=near, count_min=1 if partial else None)
        for index, (count, gpu) in enumerate(shapes)
    )
    return workload(f"w{number}", in_queue, *sets, priority=priority, queued_at_ms=number)


def gpus_by_host(of: Snapshot) -> Counter[str]:
    used: Counter[str] = Counter()
    for queued in of.workloads:
        asks = {pod_set.name: pod_set.requests[GPU] for pod_set in queued.pod_sets}
        for held in queued.admission.pod_sets if queued.admission else ():
            for domain in held.topology.domains if held.topology else ():
                used[domain.values[-1]] += asks[held.name] * domain.count
    return used


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.lists(gangs, max_size=4), min_size=1, max_size=4))
def test_hosts_are_never_overfull(arrivals: list[list[Gang]]) -> None:
    engine = Engine(snapshot(QUEUES, flavors=FLAVORS, hosts=HOSTS))
    number = 0
    for step, arrived in enumerate(arrivals):
        for gang in arrived:
            number += 1
            engine.put(workload_of(number, gang))
        before = engine.snapshot
        plan = engine.decide(NOW_MS + step)
        fresh = decide(before, NOW_MS + step)
        assert sorted(map(str, plan.admissions)) == sorted(map(str, fresh.admissions))
        used = gpus_by_host(engine.snapshot)
        assert all(used[host_node.name] <= host_node.allocatable[GPU] for host_node in HOSTS)
        assert not decide(engine.snapshot, NOW_MS + step).admissions
        for host_node in withdrawn(engine.snapshot).workloads:
            engine.put(replace(host_node, preempting=False) if host_node.admission is None else host_node)
