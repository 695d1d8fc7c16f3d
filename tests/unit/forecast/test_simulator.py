"""Jobs in the simulation, attempt by attempt."""

from dataclasses import dataclass, field, replace

import pytest

from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.traces.trace import TraceJob
from tests.fidelity.cases import cases as fidelity_cases
from tests.fidelity.replay import forecast
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    PREEMPTS,
    attempts,
    cancelled,
    configured,
    flavor,
    job,
    priority,
    provisioned,
    queue,
    simulated,
    with_budget,
)


@dataclass(frozen=True)
class Case:
    configuration: QueueConfiguration
    jobs: list[TraceJob]
    then: list[str]
    assumptions: Assumptions = field(default=AT_ONCE)


CLASSES = (priority("low", 1), priority("high", 100))
AUTOSCALED = replace(AT_ONCE, scale_up_s=60, scale_down_s=100)
PROVISIONED = replace(AT_ONCE, provisioning_median_s=60, provisioning_spread=0)

CASES: dict[str, Case] = {
    "a job runs when it is submitted": Case(
        configured(queue("a", 8)), [job("one", 5, 10, gpus=8)], ["one 5-5-15 FINISHED"]
    ),
    "topologies do not count without nodes": Case(
        configured(
            flavor("racks") | {"spec": {"nodeLabels": {"pool": "racks"}, "topologyName": "racks"}},
            queue("a", 8, flavor="racks"),
        ),
        [job("one", 5, 10, gpus=8)],
        ["one 5-5-15 FINISHED"],
    ),
    "a job waits for quota": Case(
        configured(queue("a", 8)),
        [job("one", 0, 10, gpus=8), job("two", 1, 5, gpus=8)],
        ["one 0-0-10 FINISHED", "two 10-10-15 FINISHED"],
    ),
    "a job waits for the next period of a budget": Case(
        configured(with_budget(queue("a", 8), hours=8)),
        [job("one", 0, 3600, gpus=8), job("two", 1, 5, gpus=8)],
        ["one 0-0-3600 FINISHED", "two 86400-86400-86405 FINISHED"],
    ),
    "a job runs if more of the budget is left": Case(
        configured(with_budget(queue("a", 8), hours=9)),
        [job("one", 0, 3600, gpus=8), job("two", 1, 5, gpus=8)],
        ["one 0-0-3600 FINISHED", "two 3600-3600-3605 FINISHED"],
    ),
    "preempted attempts use the budget too": Case(
        configured(with_budget(queue("a", 8, **PREEMPTS), hours=8), *CLASSES),
        [job("low", 0, 3600, 8, priority_class="low"), job("high", 1800, 1800, 8, priority_class="high")],
        [
            "low 0-0-1800 PREEMPTED",
            "high 1800-1800-3600 FINISHED",
            "low 86400-86400-90000 FINISHED",
        ],
    ),
    "a gang is admitted whole": Case(
        configured(queue("a", 8)),
        [job("small", 0, 10, gpus=2), job("gang", 1, 5, gpus=2, pods=4), job("late", 2, 1, gpus=2)],
        ["small 0-0-10 FINISHED", "late 2-2-3 FINISHED", "gang 10-10-15 FINISHED"],
    ),
    "StrictFIFO: no job overtakes the head": Case(
        configured(queue("a", 8, queueingStrategy="StrictFIFO")),
        [job("small", 0, 10, gpus=2), job("gang", 1, 5, gpus=8), job("late", 2, 1, gpus=2)],
        ["small 0-0-10 FINISHED", "gang 10-10-15 FINISHED", "late 15-15-16 FINISHED"],
    ),
    "a queue borrows idle quota of its cohort": Case(
        configured(queue("a", 4, cohortName="all"), queue("b", 4, cohortName="all")),
        [job("one", 0, 10, gpus=8, queue="b")],
        ["one 0-0-10 FINISHED"],
    ),
    "a higher priority preempts; the victim starts over": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")],
        ["low 0-0-30 PREEMPTED", "high 30-30-40 FINISHED", "low 40-40-140 FINISHED"],
    ),
    "a victim continues from its last checkpoint": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")],
        ["low 0-0-30 PREEMPTED", "high 30-30-40 FINISHED", "low 40-40-121 FINISHED"],
        replace(AT_ONCE, checkpoint_interval_s=20, restart_s=1),
    ),
    "a victim keeps its quota until its pods are deleted": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")],
        ["low 0-0-33 PREEMPTED", "high 33-33-43 FINISHED", "low 43-43-143 FINISHED"],
        replace(AT_ONCE, termination_s=3),
    ),
    "a finished job keeps its quota until its pods are deleted": Case(
        configured(queue("a", 8)),
        [job("one", 0, 10, 8), job("two", 1, 5, 8)],
        ["one 0-2-16 FINISHED", "two 16-18-27 FINISHED"],
        Assumptions(start_up_s=2, termination_s=0, cleanup_s=4),
    ),
    "a job whose work is done is not preempted": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("low", 0, 10, 8, priority_class="low"), job("high", 11, 5, 8, priority_class="high")],
        ["low 0-0-14 FINISHED", "high 14-14-23 FINISHED"],
        replace(AT_ONCE, cleanup_s=4),
    ),
    "a queue takes back what was borrowed": Case(
        configured(queue("a", 4, cohortName="all", **PREEMPTS), queue("b", 4, cohortName="all", **PREEMPTS)),
        [job("borrows", 0, 50, 8, queue="b"), job("own", 10, 5, 4, queue="a")],
        ["borrows 0-0-10 PREEMPTED", "own 10-10-15 FINISHED", "borrows 15-15-65 FINISHED"],
    ),
    "a gang on queued nodes waits for them, with its quota": Case(
        configured(queue("a", 8, **CHECKED), *provisioned()),
        [job("one", 0, 10, 8), job("two", 1, 5, 8)],
        ["one 0-60-70 FINISHED", "two 70-130-135 FINISHED"],
        PROVISIONED,
    ),
    "a gang that is preempted while it waits for nodes loses no work": Case(
        configured(queue("a", 8, **CHECKED, **PREEMPTS), *provisioned(), *CLASSES),
        [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")],
        ["low 0-never-30 PREEMPTED", "high 30-90-100 FINISHED", "low 100-160-260 FINISHED"],
        PROVISIONED,
    ),
    "a gang that is preempted before it starts keeps its quota until its pods are deleted": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")],
        ["low 0-never-33 PREEMPTED", "high 33-73-83 FINISHED", "low 83-123-223 FINISHED"],
        replace(AT_ONCE, start_up_s=40, termination_s=3),
    ),
    "after stock-outs it is retried, each time later, until it is deactivated": Case(
        configured(
            queue("a", 8, **CHECKED),
            *provisioned(backoffLimitCount=2, backoffBaseSeconds=10, backoffMaxSeconds=15),
        ),
        [job("one", 0, 10, 8)],
        [
            "one 0-never-5 NOT_PROVISIONED",
            "one 15-never-20 NOT_PROVISIONED",
            "one 35-never-40 DEACTIVATED",
        ],
        replace(PROVISIONED, stock_out_probability=1, stock_out_after_s=5),
    ),
    "a gang waits for nodes that the autoscaler makes, and for none that are idle and still there": Case(
        replace(configured(queue("a", 8)), autoscaled={"h100": 0}),
        [job("one", 0, 10, 8), job("soon", 169, 10, 6), job("part", 170, 10, 2), job("late", 300, 10, 8)],
        [
            "one 0-60-70 FINISHED",
            "soon 169-169-179 FINISHED",
            "part 170-230-240 FINISHED",
            "late 300-360-370 FINISHED",
        ],
        AUTOSCALED,
    ),
    "a gang waits for no nodes that its pool always keeps": Case(
        replace(configured(queue("a", 8)), autoscaled={"h100": 4}),
        [job("small", 0, 10, 4), job("other", 1, 10, 4)],
        ["small 0-0-10 FINISHED", "other 1-61-71 FINISHED"],
        AUTOSCALED,
    ),
    "admissions are written one after the other": Case(
        configured(queue("a", 8)),
        [job("one", 0, 10), job("two", 0, 10), job("three", 1, 10), job("four", 9, 10)],
        ["one 0-2-12 FINISHED", "two 0-4-14 FINISHED", "three 1-6-16 FINISHED", "four 9-11-21 FINISHED"],
        replace(AT_ONCE, admission_s=2),
    ),
    "a gang holds its quota while its admission waits to be written": Case(
        configured(queue("a", 8)),
        [job("one", 0, 10, 4), job("two", 0, 10, 4), job("three", 1, 10, 4)],
        ["one 0-5-15 FINISHED", "two 0-10-20 FINISHED", "three 15-20-30 FINISHED"],
        replace(AT_ONCE, admission_s=5),
    ),
    "a gang fails before its preemption, which is too late for its end, is written": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [job("slow", 0, 10, 8, priority_class="low"), job("high", 11, 5, 8, priority_class="high")],
        ["slow 0-5-12.845 FAILED", "high 12.845-21-26 FINISHED", "slow 26-31-41 FINISHED"],
        replace(AT_ONCE, admission_s=5, failures_per_node_hour=120),
    ),
    "Kueue tries again a moment after quota was released; what arrives meanwhile is first": Case(
        configured(queue("a", 8)),
        [job("one", 0, 10, 8), job("two", 1, 10, 8), job("new", 12, 10, 4), job("later", 40, 10, 8)],
        [
            "one 0-0-10 FINISHED",
            "new 12-12-22 FINISHED",
            "two 25-25-35 FINISHED",
            "later 40-40-50 FINISHED",
        ],
        replace(AT_ONCE, requeue_s=3),
    ),
    "Kueue tries the head of a strict queue immediately": Case(
        configured(queue("a", 8, queueingStrategy="StrictFIFO")),
        [job("one", 0, 10, 8), job("two", 1, 10, 8)],
        ["one 0-0-10 FINISHED", "two 10-10-20 FINISHED"],
        replace(AT_ONCE, requeue_s=3),
    ),
    "a job that waits is cancelled, and holds up no other": Case(
        configured(queue("a", 8, queueingStrategy="StrictFIFO")),
        [job("one", 0, 20, 8), cancelled("two", 1, 4, gpus=8), job("three", 2, 5, 8)],
        ["one 0-0-20 FINISHED", "three 20-20-25 FINISHED"],
    ),
    "a job that would have started by then runs until it is cancelled": Case(
        configured(queue("a", 8)),
        [cancelled("one", 0, 10, gpus=8), job("two", 1, 5, 8)],
        ["one 0-0-14 CANCELLED", "two 14-14-23 FINISHED"],
        replace(AT_ONCE, cleanup_s=4),
    ),
    "a job is cancelled while its gang starts": Case(
        configured(queue("a", 8)),
        [cancelled("one", 0, 10, gpus=8)],
        ["one 0-never-10 CANCELLED"],
        replace(AT_ONCE, start_up_s=30),
    ),
    "a preempted job is cancelled while its pods terminate": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [
            cancelled("low", 0, 32, gpus=8, priority_class="low"),
            job("high", 30, 10, 8, priority_class="high"),
        ],
        ["low 0-0-33 PREEMPTED", "high 33-33-43 FINISHED"],
        replace(AT_ONCE, termination_s=3),
    ),
    "a preempted job is cancelled while it waits again": Case(
        configured(queue("a", 8, **PREEMPTS), *CLASSES),
        [
            cancelled("low", 0, 35, gpus=8, priority_class="low"),
            job("high", 30, 10, 8, priority_class="high"),
        ],
        ["low 0-0-30 PREEMPTED", "high 30-30-40 FINISHED"],
    ),
    "a job is cancelled in the backoff after a stock-out": Case(
        configured(queue("a", 8, **CHECKED), *provisioned(backoffBaseSeconds=10)),
        [cancelled("one", 0, 8, gpus=8), job("two", 9, 5, 8)],
        [
            "one 0-never-5 NOT_PROVISIONED",
            *(f"two {n}-never-{n + 5} NOT_PROVISIONED" for n in (9, 24, 49)),
            "two 94-never-99 DEACTIVATED",
        ],
        replace(PROVISIONED, stock_out_probability=1, stock_out_after_s=5),
    ),
    "a job is cancelled after its deactivation": Case(
        configured(queue("a", 8, **CHECKED), *provisioned(backoffLimitCount=0)),
        [cancelled("one", 0, 8, gpus=8)],
        ["one 0-never-5 DEACTIVATED"],
        replace(PROVISIONED, stock_out_probability=1, stock_out_after_s=5),
    ),
    "a job is cancelled when it is submitted": Case(
        configured(queue("a", 8)),
        [cancelled("one", 0, 0, gpus=8), job("two", 0, 5, 8)],
        ["two 0-0-5 FINISHED"],
    ),
    "a gang larger than its queue never starts, and holds up no other": Case(
        configured(queue("a", 8)),
        [job("huge", 0, 10, 16), job("one", 1, 5, 8)],
        ["one 1-1-6 FINISHED"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_jobs_go_through_attempts(name: str) -> None:
    case = CASES[name]
    outcome = simulated(case.configuration, *case.jobs, assumptions=case.assumptions)
    assert attempts(outcome) == case.then


def test_gangs_that_preempt_each_other_in_turns_come_to_an_end() -> None:
    """Kueue's fair sharing lets a small gang start before a large one, which preempts it immediately."""
    (fair,) = (case for case in fidelity_cases(100) if case.name == "fair")
    outcomes = forecast(fair, Assumptions(start_up_s=1.97, termination_s=7.6, cleanup_s=8.9))
    assert len(outcomes.jobs) == 100
    assert 0 < sum(holding.preempted for holding in outcomes.holdings) < 100


def test_work_that_is_lost_is_counted() -> None:
    configuration = configured(queue("a", 8, **PREEMPTS), *CLASSES)
    jobs = [job("low", 0, 100, 8, priority_class="low"), job("high", 30, 10, 8, priority_class="high")]
    checkpointed = replace(AT_ONCE, checkpoint_interval_s=20)
    assert list(simulated(configuration, *jobs).attempts.lost_ms) == [30_000, 0, 0]
    assert list(simulated(configuration, *jobs, assumptions=checkpointed).attempts.lost_ms) == [10_000, 0, 0]


def test_failures_stop_gangs_and_the_work_is_repeated() -> None:
    fails = replace(AT_ONCE, failures_per_node_hour=2.0)
    outcome = simulated(configured(queue("a", 8)), job("one", 0, 3600, 8, pods=1), assumptions=fails, seed=3)
    ends = [line.rpartition(" ")[2] for line in attempts(outcome)]
    assert ends[-1] == "FINISHED"
    assert set(ends[:-1]) == {"FAILED"}
    assert sum(outcome.attempts.lost_ms) == outcome.end_ms - 3_600_000


def test_spot_nodes_are_reclaimed_and_others_are_not() -> None:
    reclaimed = replace(AT_ONCE, spot_interruptions_per_node_hour=2.0)
    on_demand = configured(queue("a", 8))
    ends = [
        [
            line.rpartition(" ")[2]
            for line in attempts(simulated(of, job("one", 0, 3600, 8), assumptions=reclaimed, seed=3))
        ]
        for of in (
            on_demand,
            replace(on_demand, spot=frozenset({"h100"})),
            replace(on_demand, spot=frozenset({"l4"})),
        )
    ]
    assert ends[0] == ends[2] == ["FINISHED"]
    assert ends[1][-1] == "FINISHED"
    assert set(ends[1][:-1]) == {"FAILED"}


def test_unknown_run_times_are_drawn_from_the_users_jobs() -> None:
    known_jobs = [job(f"k{i}", i, 100 + i, user="ann") for i in range(3)]
    others = [job(f"o{i}", i, 9000, user="bob") for i in range(3)]
    asked = [job(f"u{i}", 10 + i, None, user="ann") for i in range(5)]
    outcome = simulated(
        configured(queue("a", 100)), *sorted([*known_jobs, *others, *asked], key=lambda j: j.submit_ms)
    )
    rows = outcome.attempts
    runs = {
        outcome.jobs[j].name: e - s for j, s, e in zip(rows.job, rows.started_ms, rows.ended_ms, strict=True)
    }
    drawn = [run for name, run in runs.items() if name.startswith("u")]
    assert set(drawn) <= {100_000, 101_000, 102_000}


def test_a_trace_without_any_run_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no job of the trace has a run time"):
        simulated(configured(queue("a", 8)), job("one", 0, None))


def test_time_alone_changes_decisions_where_a_rule_says_so() -> None:
    """An older job overtakes one of a higher class by aging alone."""
    aging = '{"rules": {"aging": {"step": 100, "period": "60s", "max": 1000}}}'
    configuration = configured(queue("a", 8), *CLASSES, controller=aging)
    jobs = [
        job("runs", 0, 300, 8, priority_class="high"),
        job("old", 1, 10, 8, priority_class="low"),
        job("new", 200, 10, 8, priority_class="high"),
    ]
    assert [line.split()[0] for line in attempts(simulated(configuration, *jobs))] == ["runs", "old", "new"]
