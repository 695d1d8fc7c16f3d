"""Elastic gangs on hosts: sizes change at random, and Ray removes any of their pods."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.admission import (
    HOSTNAME,
    Engine,
    Flavor,
    PreemptionPolicy,
    Rules,
    TopologyAssignment,
    TopologyDomain,
    TopologyRequest,
    Workload,
    decide,
)
from muster.admission.pruning.try_everything import TryEverything
from muster.controller.workload.growth import of_gangs
from muster.translation import domains
from muster.translation.elastic import ElasticPodSet, aligned, resized, split
from tests.unit.admission.builders import GPU, NOW_MS, host, pods, queue, snapshot, workload
from tests.unit.admission.strategies import examples

GPUS = 2  # of a host; a pod has one
HOSTS = tuple(host(f"h{number}", gpu=GPUS, rack=f"r{number % 2}") for number in range(6))
RACKS = {node.name: node.labels["rack"] for node in HOSTS}
QUEUES = [
    queue(name, {"tpu": {GPU: 8}}, cohort="c", within_queue=PreemptionPolicy.LOWER_PRIORITY) for name in "ab"
]
FLAVORS = [Flavor("tpu", topology="racks")]
REQUIRED = TopologyRequest(required="rack")
REQUESTS = [None, REQUIRED, TopologyRequest(preferred="rack"), TopologyRequest(unconstrained=True)]

Gang = tuple[str, int, int, int, TopologyRequest | None]
"""The queue, the priority, the minimum and the size of a replica, and the topology request."""
gangs = st.tuples(
    st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 2), st.integers(1, 2), st.sampled_from(REQUESTS)
)


@dataclass
class Elastic:
    """A gang with its running pods by host. `whole` has the pods that hold quota."""

    whole: Workload
    minimum: int
    replica: int
    asked: int
    running: Counter[str] = field(default_factory=Counter)

    @property
    def assigned(self) -> TopologyAssignment | None:
        return self.whole.admission.pod_sets[0].topology if self.whole.admission else None

    @property
    def count(self) -> int:
        return self.whole.admission.pod_sets[0].count if self.whole.admission else 0

    def sizes(self) -> Mapping[str, ElasticPodSet]:
        runs = tuple(TopologyDomain((name,), n) for name, n in sorted(self.running.items()))
        placed = TopologyAssignment((HOSTNAME,), runs) if runs else None
        return {
            "workers": ElasticPodSet(self.minimum, self.replica, self.asked, self.running.total(), placed)
        }

    def ask(self, replicas: int) -> None:
        """Lowers the count to the replicas that it asks for, as `with_surplus` does."""
        self.asked = max(replicas * self.replica, self.minimum)
        if self.whole.admission is not None:
            admission = resized(self.whole.admission, {"workers": min(self.count, self.asked)})
            self.whole = replace(self.whole, admission=aligned(admission, self.sizes()))

    def parts(self) -> tuple[Workload, ...]:
        return split(self.whole, self.sizes()) if self.whole.admission else (self.whole,)

    def run(self, random: Random) -> None:
        """Lets Ray remove pods without quota, some of them now, and opens gates of others."""
        while self.running.total() > self.count and random.random() < 0.7:
            self.running.subtract([random.choice(sorted(self.running.elements()))])
        self.running = +self.running
        unused = domains.beyond(self.assigned, self.sizes()["workers"].placed)
        free = [d.values[0] for d in (unused.domains if unused else ()) for _ in range(d.count)]
        self.running.update(free[: max(0, self.count - self.running.total())])


def elastic_gangs(drawn: list[Gang]) -> list[Elastic]:
    created = []
    for number, (in_queue, priority, minimum, size, request) in enumerate(drawn):
        least = minimum * size
        sets = pods(count=least, gpu=1, topology=request)
        whole = workload(f"w{number}", in_queue, sets, priority=priority, queued_at_ms=number)
        created.append(Elastic(whole, least, size, least))
    return created


def carried_out(engine: Engine, of: dict[str, Elastic], now_ms: int) -> None:
    """Decides, compares with a decision from scratch and one without pruning, and carries it out."""
    before = engine.snapshot
    plan = engine.decide(now_ms)
    for fresh in (decide(before, now_ms), decide(before, now_ms, Rules(), TryEverything)):
        assert sorted(map(str, plan.admissions)) == sorted(map(str, fresh.admissions))
        assert sorted(map(str, plan.preemptions)) == sorted(map(str, fresh.preemptions))
    whole = of_gangs(plan, lambda key: of[key].parts())
    for admitted in whole.plan.admissions:
        gang = of[admitted.workload]
        gang.whole = replace(gang.whole, admission=admitted.admission, reserved_at_ms=now_ms)
    for key, resize in whole.resizes.items():
        of[key].whole = replace(of[key].whole, admission=resize.admission)
    for preempted in whole.plan.preemptions:
        of[preempted.workload].whole = replace(of[preempted.workload].whole, evicted=True)


def put(engine: Engine, gang: Elastic, before: set[str]) -> Iterator[str]:
    """Puts a gang with its surplus; yields the keys."""
    parts = {part.key: part for part in gang.parts()}
    for key in sorted(before - parts.keys()):
        engine.remove(key)
    for part in parts.values():
        engine.put(part)
    yield from parts


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(gangs, min_size=1, max_size=3),
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_no_host_has_too_many_pods_and_required_racks_hold(
    drawn: list[Gang], demands: list[list[int]], random: Random
) -> None:
    engine = Engine(snapshot(QUEUES, flavors=FLAVORS, hosts=HOSTS))
    of = {gang.whole.key: gang for gang in elastic_gangs(drawn)}
    keys: dict[str, set[str]] = {key: set() for key in of}
    for step, demand in enumerate(demands):
        for gang, asked in zip(of.values(), demand, strict=False):
            if gang.whole.evicted:
                gang.whole, gang.running = replace(gang.whole, admission=None, evicted=False), Counter()
            gang.ask(asked)
            keys[gang.whole.key] = set(put(engine, gang, keys[gang.whole.key]))
        carried_out(engine, of, NOW_MS + step)
        for gang in of.values():
            assert gang.assigned is None or sum(d.count for d in gang.assigned.domains) == gang.count
            if not gang.whole.evicted:
                gang.run(random)
        on_hosts = sum((gang.running for gang in of.values()), Counter[str]())
        assert all(count <= GPUS for count in on_hosts.values()), on_hosts
        for gang in of.values():
            if gang.whole.pod_sets[0].topology == REQUIRED:
                assert len({RACKS[name] for name in gang.running}) <= 1
