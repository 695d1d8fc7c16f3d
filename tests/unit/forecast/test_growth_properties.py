"""Properties of simulations with autoscaled jobs, over random demand."""

from hypothesis import given
from hypothesis import strategies as st

from muster.forecast.results.usage import HOUR_MS, usage
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import AT_ONCE, attempts, autoscaled, job, placed
from tests.unit.forecast.drawn_forecasts import two_queues

DEMAND = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 6)), max_size=4)
SCALED = st.tuples(
    st.integers(0, 40),
    st.integers(5, 60),
    st.integers(0, 2),
    st.integers(0, 6),
    DEMAND,
    st.sampled_from("ab"),
    st.sampled_from(["low", "high"]),
)
FIXED = st.tuples(
    st.integers(0, 40),
    st.integers(0, 30),
    st.sampled_from([1, 2, 4]),
    st.sampled_from("ab"),
    st.sampled_from(["low", "high"]),
)
POLICIES = st.sampled_from(["Never", "LowerPriority", "Any"])

Drawn = tuple[
    list[tuple[int, int, int, int, list[tuple[int, int]], str, str]], list[tuple[int, int, int, str, str]]
]
DRAWN = st.tuples(st.lists(SCALED, min_size=1, max_size=8), st.lists(FIXED, max_size=8))


class Inspected(Simulator):
    """A simulation that shows what remains of it."""

    @property
    def pending(self) -> tuple[int, int]:
        """The gangs and the replicas that wait."""
        return self._pending, self._elastic.pending

    @property
    def used(self) -> int:
        """The quota that is still held."""
        return sum(column.used for node in self._engine.quota_usage() for column in node.columns.values())


def jobs_of(drawn: Drawn) -> list[TraceJob]:
    scaled, fixed = drawn
    jobs = [
        autoscaled(
            f"scaled-{number}",
            at,
            run,
            (0, first),
            *sorted(changes),
            least=least,
            queue=of,
            priority_class=name,
        )
        for number, (at, run, least, first, changes, of, name) in enumerate(scaled)
    ]
    jobs += [
        job(f"fixed-{number}", at, run, gpus, queue=of, priority_class=name)
        for number, (at, run, gpus, of, name) in enumerate(fixed)
    ]
    return sorted(jobs, key=lambda of: of.submit_ms)


@given(DRAWN, POLICIES, st.sampled_from(["Never", "LowerPriority"]))
def test_all_jobs_end_and_release_their_quota(drawn: Drawn, reclaim: str, within: str) -> None:
    configuration = two_queues(4, 4, reclaim, within)
    simulator = Inspected(configuration, placed(configuration, jobs_of(drawn)), AT_ONCE)
    outcome = simulator.run()
    finished = [line.split()[0] for line in attempts(outcome) if line.endswith("FINISHED")]
    assert sorted(finished) == sorted(job.name for job in outcome.jobs)
    assert (simulator.pending, simulator.used) == ((0, 0), 0)
    assert simulator.waiting(outcome.end_ms) == []


@given(DRAWN, POLICIES)
def test_workers_use_no_more_than_the_quota(drawn: Drawn, reclaim: str) -> None:
    """On average over the time: 8 GPUs. Preempted workers hold quota for their notice in addition."""
    configuration = two_queues(4, 4, reclaim)
    outcome = Simulator(configuration, placed(configuration, jobs_of(drawn)), AT_ONCE).run()
    held = sum(use.held for use in usage(outcome).flavors.values())
    assert held <= 8 * outcome.end_ms / HOUR_MS + 1e-9


@given(DRAWN, POLICIES)
def test_times_of_growth_are_consistent(drawn: Drawn, reclaim: str) -> None:
    configuration = two_queues(4, 4, reclaim)
    growth = Simulator(configuration, placed(configuration, jobs_of(drawn)), AT_ONCE).run().growth
    assert all(growth.below_ms.get(job, 0) <= held_ms for job, held_ms in growth.held_ms.items())
    for asked_ms, granted_ms, pods in zip(growth.asked_ms, growth.granted_ms, growth.pods, strict=True):
        assert pods > 0
        assert granted_ms == -1 or granted_ms >= asked_ms
