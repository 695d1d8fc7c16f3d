"""Random traces and queues to forecast."""

from hypothesis import strategies as st

from muster.forecast.configuration import QueueConfiguration
from muster.forecast.traces.trace import TraceJob
from tests.unit.forecast.builders import (
    configured,
    job,
    priority,
    queue,
)

JOBS = st.lists(
    st.builds(
        lambda at, run, gpus, queue, name: (at, run, gpus, queue, name),
        st.integers(0, 60),
        st.integers(0, 30),
        st.sampled_from([1, 2, 4, 8]),
        st.sampled_from("ab"),
        st.sampled_from(["low", "high"]),
    ),
    min_size=1,
    max_size=25,
)


Drawn = list[tuple[int, int, int, str, str]]


def jobs_of(drawn: Drawn) -> list[TraceJob]:
    return [
        job(f"job-{number}", at, run, gpus, queue=of, priority_class=name)
        for number, (at, run, gpus, of, name) in enumerate(sorted(drawn))
    ]


def two_queues(a: int, b: int, reclaim: str = "Never", within: str = "Never") -> QueueConfiguration:
    preemption = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    queues = (queue(name, n, cohortName="all", preemption=preemption) for name, n in (("a", a), ("b", b)))
    return configured(*queues, priority("low", 1), priority("high", 100))
