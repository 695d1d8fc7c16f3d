"""Estimates on jobs: which are written, how often, and what is counted."""

import asyncio
import json
import logging
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import DEFAULT
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import CompletedPass
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.process.start_announcer import WRITES_A_ROUND_MAX, StartAnnouncer
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.kube import kinds
from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.writes import Overwrite
from muster.live.eta import run_outs
from muster.live.eta.calculation import CalculationError, EstimatedStarts, Question, restored
from muster.live.eta.growth_range import GrowthRange, annotation
from muster.live.eta.run_outs import RunOut
from muster.live.eta.start_range import StartRange
from muster.objects.names import BUDGET_FORECAST, ETA_ANNOTATION, GROWTH_ETA_ANNOTATION
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import NOW_MS, Body, stored
from tests.unit.controller.queued_gangs import QueuedGang, growth
from tests.unit.live.builders import cluster, running, since, waiting
from tests.unit.live.elastic import objects, running_elastic

MINUTE_MS = 60_000
SCALED = running_elastic()
SCALED_UID: str = SCALED["metadata"]["uid"]


def in_minutes(minutes: float, round_at_ms: int = NOW_MS) -> StartRange:
    at_ms = NOW_MS + round(MINUTE_MS * minutes)
    return StartRange(round_at_ms, at_ms, at_ms, at_ms, 20)


def jobs(*names: str, start: tuple[str, ...] = ()) -> ClusterState:
    """Jobs that wait, and others that run."""
    bodies = [ray_job(name) for name in (*names, *start)]
    workloads = [*(waiting(ray_job(n)) for n in names), *(running(ray_job(n), 0) for n in start)]
    return cluster(*workloads, RAY_JOBS=[stored(body) for body in bodies])


def uid(name: str) -> str:
    identity: str = waiting(ray_job(name))["metadata"]["uid"]
    return identity


class Fixture:
    """An announcer with given answers; it is NOW_MS unless a test changes it."""

    def __init__(self, of: ClusterState | None) -> None:
        self.metrics = Metrics(lambda: True)
        self.answer: EstimatedStarts | Exception = EstimatedStarts({}, 0.0)
        self.error: Exception | None = None
        self.clock_s, self.took_s = 0.0, 0.0
        self.now_ms = NOW_MS
        self.questions: list[Question] = []
        self.written: list[Overwrite] = []
        self.announcer = StartAnnouncer(
            DEFAULT,
            None,
            self.metrics,
            calculate=self._calculate,
            now_ms=lambda: self.now_ms,
            clock_s=lambda: self.clock_s,
        )
        if of is not None:
            self.passed(of)

    def passed(self, of: ClusterState) -> None:
        self.announcer.passed(CompletedPass(of, PassPlan(), (), NOW_MS, 0))

    def round(self, starts: Mapping[str, StartRange], cpu_s: float = 0.0) -> float:
        """Returns when the next round is."""
        self.answer = EstimatedStarts({uid(name): start for name, start in starts.items()}, cpu_s)
        return self.again()

    def round_of_growth(self, *growth: GrowthRange) -> list[str | None]:
        """Returns the annotations that the round has written."""
        self.answer, self.written = EstimatedStarts({}, 0.0, {SCALED_UID: growth} if growth else {}), []
        self.again()
        return [write.body["metadata"]["annotations"][GROWTH_ETA_ANNOTATION] for write in self.written]

    def again(self) -> float:
        return asyncio.run(self.announcer.round(cast("Kube", self)))

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    async def _calculate(self, question: Question, timeout_s: float) -> EstimatedStarts:
        self.questions.append(question)
        self.clock_s += self.took_s
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def perform(self, write: Any) -> None:
        if self.error is not None:
            raise self.error
        self.written.append(write)


def test_estimate_is_written_on_the_job() -> None:
    fixture = Fixture(jobs("new"))
    fixture.round({"new": in_minutes(10)})
    (write,) = fixture.written
    assert (write.kind, write.key, write.uid) == (kinds.RAY_JOBS, "team-a/new", "uid-new")
    annotation = json.loads(write.body["metadata"]["annotations"][ETA_ANNOTATION])
    assert (annotation["p50"], annotation["futures"]) == ("2027-01-15T08:10:00Z", 20)
    assert fixture.value("muster_writes_total", kind="RayJob", verb="overwrite", result="done") == 1


def test_later_rounds_and_the_journal_learn_from_estimates() -> None:
    fixture, simulated = Fixture(jobs("new")), SimulatedWait(0, MINUTE_MS, MINUTE_MS, MINUTE_MS)
    fixture.answer = EstimatedStarts({}, 0.0, simulated={uid("new"): simulated})
    fixture.again()
    fixture.now_ms += 2 * MINUTE_MS
    fixture.round({})
    pending = EstimateOutcome(NOW_MS, simulated, 2 * MINUTE_MS, False)
    assert [question.estimates for question in fixture.questions] == [(), (pending,)]
    fixture.passed(jobs(start=("new",)))
    assert fixture.announcer.estimates(uid("new")) == (replace(pending, wait_ms=0, has_started=True),)


def test_estimate_is_written_again_only_if_it_has_moved() -> None:
    fixture = Fixture(jobs("new"))
    for minutes in (10, 10.1, 20):
        fixture.round({"new": in_minutes(minutes)})
    output = [
        json.loads(write.body["metadata"]["annotations"][ETA_ANNOTATION])["p50"] for write in fixture.written
    ]
    assert output == ["2027-01-15T08:10:00Z", "2027-01-15T08:20:00Z"]


def test_estimate_is_not_written_on_a_job_that_has_started_or_is_gone() -> None:
    fixture = Fixture(jobs("new", start=("early",)))
    fixture.round({"new": in_minutes(10), "early": in_minutes(10), "gone": in_minutes(10)})
    assert [write.key for write in fixture.written] == ["team-a/new"]


def used_up_in(hours: float, at_ms: int = NOW_MS) -> RunOut:
    return RunOut("ClusterQueue team-a", "its budget", in_minutes(60 * hours, at_ms))


def queues_with(*forecast: RunOut) -> ClusterState:
    bodies = deepcopy(local_stack(check=False)[kinds.CLUSTER_QUEUES])
    if forecast:
        bodies[0]["metadata"]["annotations"] = {BUDGET_FORECAST: run_outs.annotation(forecast)}
    return cluster(CLUSTER_QUEUES=bodies)


RUN_OUTS: dict[str, tuple[ClusterState, tuple[RunOut, ...], list[str | None]]] = {
    "new": (queues_with(), (used_up_in(5),), [run_outs.annotation([used_up_in(5)])]),
    "unchanged": (queues_with(used_up_in(5)), (used_up_in(5.1),), []),
    "moved": (queues_with(used_up_in(5)), (used_up_in(8),), [run_outs.annotation([used_up_in(8)])]),
    "old": (
        queues_with(used_up_in(5, NOW_MS - 60 * MINUTE_MS)),
        (used_up_in(5),),
        [run_outs.annotation([used_up_in(5)])],
    ),
    "no longer estimated": (queues_with(used_up_in(5)), (), [None]),
    "none": (queues_with(), (), []),
}


@pytest.mark.parametrize(("of", "estimates", "writes"), RUN_OUTS.values(), ids=RUN_OUTS)
def test_forecast_of_budgets_is_written_on_the_queue(
    of: ClusterState, estimates: tuple[RunOut, ...], writes: list[str | None]
) -> None:
    fixture = Fixture(of)
    fixture.answer = EstimatedStarts({}, 0.0, run_outs={"team-a": estimates} if estimates else {})
    fixture.again()
    assert [write.key for write in fixture.written] == ["team-a"] * len(writes)
    assert [w.body["metadata"]["annotations"][BUDGET_FORECAST] for w in fixture.written] == writes


def test_forecast_of_a_budget_that_is_not_written_is_tried_in_the_next_round() -> None:
    fixture = Fixture(queues_with())
    fixture.answer = EstimatedStarts({}, 0.0, run_outs={"team-a": (used_up_in(5),)})
    overwrite = Overwrite(kinds.CLUSTER_QUEUES, "team-a", {}, "uid-team-a")
    for error in (WriteError(overwrite, 403, "forbidden"), NotLeading("another one leads"), None):
        fixture.error = error
        fixture.again()
    refused = {"kind": "ClusterQueue", "verb": "overwrite", "result": "refused"}
    assert fixture.value("muster_writes_total", **refused) == 1
    assert len(fixture.written) == 1


def test_failed_write_is_tried_in_the_next_round() -> None:
    fixture = Fixture(jobs("new"))
    overwrite = Overwrite(kinds.RAY_JOBS, "team-a/new", {}, "uid-new")
    fixture.error = WriteError(overwrite, 403, "forbidden")
    fixture.round({"new": in_minutes(10)})
    assert fixture.value("muster_writes_total", kind="RayJob", verb="overwrite", result="refused") == 1
    fixture.error = None
    fixture.round({"new": in_minutes(10)})
    assert len(fixture.written) == 1


def test_nothing_is_written_without_the_lease() -> None:
    fixture = Fixture(jobs("one", "two"))
    fixture.error = NotLeading("another one leads")
    assert fixture.round({"one": in_minutes(10), "two": in_minutes(10)}) > 0
    assert fixture.written == []


def test_jobs_without_an_estimate_come_first_where_many_have_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.controller.process.start_announcer.WRITES_A_ROUND_MAX", 1)
    assert WRITES_A_ROUND_MAX > 1
    fixture = Fixture(jobs("one", "two"))
    for minutes in (10, 20):
        fixture.round({"one": in_minutes(minutes), "two": in_minutes(minutes)})
    assert len({write.key for write in fixture.written}) == 2


@pytest.mark.parametrize(("cpu_s", "next_s"), [(0.0, 60), (3.0, 60), (10.0, 200)])
def test_rounds_take_a_small_share_of_a_processor(cpu_s: float, next_s: float) -> None:
    assert Fixture(jobs("new")).round({"new": in_minutes(10)}, cpu_s) == pytest.approx(next_s)


@pytest.mark.parametrize(("took_s", "next_s"), [(0.5, 60), (20, 400), (1800, 6000)])
def test_round_without_an_answer_is_counted_and_repeated_later(
    took_s: float, next_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Limits its CPU time: at most 300 s."""
    fixture = Fixture(jobs("new"))
    fixture.answer, fixture.took_s = CalculationError("no answer within 1800 s"), took_s
    with caplog.at_level(logging.WARNING):
        assert fixture.again() == pytest.approx(next_s)
    assert caplog.messages == ["cannot estimate starts of pending jobs: no answer within 1800 s"]
    assert fixture.value("muster_eta_failures_total") == 1


def test_question_is_about_the_last_passs_objects() -> None:
    fixture = Fixture(jobs("old"))
    fixture.passed(jobs("new"))
    fixture.again()
    (question,) = fixture.questions
    assert restored(question.objects).workloads == jobs("new").workloads
    assert question.now_ms == NOW_MS


def test_error_of_the_first_estimate_is_measured_at_the_start() -> None:
    fixture = Fixture(jobs("new"))
    fixture.round({"new": in_minutes(-5)})
    fixture.round({"new": in_minutes(0)})
    fixture.passed(jobs(start=("new",)))
    labels = {"cluster_queue": "team-a", "priority_class": "dev-priority"}
    assert fixture.value("muster_eta_error_seconds_count", **labels) == 1
    assert fixture.value("muster_eta_error_seconds_bucket", **labels, le="60.0") == 0
    assert fixture.value("muster_eta_error_seconds_bucket", **labels, le="600.0") == 1
    # the first estimate was five minutes too early, the latest is right
    for band in ("after", "within"):
        assert fixture.value("muster_eta_starts_total", **labels, age="up to 1m", band=band) == 1


def with_quota(ago_s: float) -> ClusterState:
    """A job that got its quota, and whose pods have not started."""
    body = running(ray_job("new"))
    body["status"]["conditions"] = [
        *(since(kind, ago_s) for kind in ("QuotaReserved", "Admitted")),
        since("PodsReady", ago_s, False, "WaitForStart"),
    ]
    return cluster(body, RAY_JOBS=[stored(ray_job("new"))])


EARLY: dict[str, tuple[ClusterState, float, float, bool]] = {
    "its range has not passed": (jobs("new"), 9, 6, False),
    "its range has passed": (jobs("new"), 11, 6, True),
    "its range has just passed": (jobs("new"), 11, 4, False),
    "it has started": (jobs(start=("new",)), 11, 6, False),
    "it is gone": (jobs("other"), 11, 6, False),
    "it has got quota since": (with_quota(-30), 1, 6, True),
    "it had quota before": (with_quota(30), 1, 6, False),
}


@pytest.mark.parametrize("name", EARLY)
def test_untrue_estimate_ends_the_pause_within_ten_seconds(name: str) -> None:
    """Estimates that a job starts in ten minutes; after `minutes`, and `passed_s` of the pause."""
    after, minutes, passed_s, is_early = EARLY[name]
    fixture = Fixture(jobs("new"))
    fixture.round({"new": in_minutes(10)}, cpu_s=0.5)
    fixture.passed(after)
    fixture.now_ms += round(MINUTE_MS * minutes)
    assert fixture.announcer.ends_early(passed_s) is is_early


def test_untrue_estimate_is_replaced_even_if_the_new_one_is_close() -> None:
    fixture = Fixture(jobs("new"))
    fixture.round({"new": in_minutes(10)})
    fixture.now_ms += 10 * MINUTE_MS + 1_000
    fixture.round({"new": in_minutes(10.05, fixture.now_ms)})
    assert len(fixture.written) == 2


def test_expensive_rounds_are_not_repeated_early() -> None:
    """A round of 10 s of CPU time is repeated after 50 s at the earliest: 20% of a core."""
    fixture = Fixture(jobs("new"))
    fixture.round({"new": in_minutes(1)}, cpu_s=10)
    fixture.now_ms += 2 * MINUTE_MS
    assert [fixture.announcer.ends_early(passed_s) for passed_s in (49, 51)] == [False, True]


def scaled(*announced: GrowthRange) -> ClusterState:
    """An autoscaled job that runs, with these estimates."""
    kinds_of: dict[str, Any] = objects()
    if announced:
        (job,) = kinds_of["RAY_JOBS"]
        job["metadata"]["annotations"] = {GROWTH_ETA_ANNOTATION: annotation(announced)}
    return cluster(SCALED, **kinds_of)


def more(minutes: float, workers: int = 1) -> GrowthRange:
    return GrowthRange("gpu", 2, workers, in_minutes(minutes))


GROWTH: dict[str, tuple[tuple[GrowthRange, ...], tuple[GrowthRange, ...], list[str | None]]] = {
    "a first estimate": ((), (more(10),), [annotation([more(10)])]),
    "the same": ((more(10),), (more(10),), []),
    "it has hardly moved": ((more(10),), (more(10.1),), []),
    "it has moved": ((more(10),), (more(20),), [annotation([more(20)])]),
    "more workers": ((more(10),), (more(10, 2),), [annotation([more(10, 2)])]),
    "it asks for no more": ((more(10),), (), [None]),
    "it asked for no more": ((), (), []),
}


@pytest.mark.parametrize("name", GROWTH)
def test_growth_is_annotated_as_it_moves(name: str) -> None:
    announced, estimated, written = GROWTH[name]
    assert Fixture(scaled(*announced)).round_of_growth(*estimated) == written


def test_growth_that_cannot_be_written_is_tried_in_the_next_round() -> None:
    fixture = Fixture(scaled())
    fixture.error = WriteError(Overwrite(kinds.RAY_JOBS, "team-a/scaled", {}, ""), 403, "forbidden")
    assert fixture.round_of_growth(more(10)) == []
    fixture.error = NotLeading("another one leads")
    assert fixture.round_of_growth(more(10)) == []
    fixture.error = None
    assert fixture.round_of_growth(more(10)) == [annotation([more(10)])]


@pytest.mark.parametrize(("minutes", "granted", "is_early"), [(9, 2, False), (11, 2, True), (11, 3, False)])
def test_growth_that_is_overdue_ends_the_pause(minutes: float, granted: int, is_early: bool) -> None:
    growth = GrowthRange("gpu", granted, 1, in_minutes(10))
    fixture = Fixture(scaled(growth))
    fixture.round_of_growth(growth)
    fixture.now_ms += round(MINUTE_MS * minutes)
    assert fixture.announcer.ends_early(6) is is_early


@pytest.mark.parametrize(
    ("requests", "is_early"),
    [
        pytest.param((), False, id="none"),
        pytest.param((growth("Accepted", ago_s=2),), False, id="before the latest estimates"),
        pytest.param((growth("Accepted", ago_s=-2),), True, id="since the latest estimates"),
    ],
)
def test_a_request_for_nodes_ends_the_pause(requests: tuple[Body, ...], is_early: bool) -> None:
    fixture = Fixture(QueuedGang(granted=6, requests=requests).cluster())
    fixture.again()
    assert fixture.announcer.ends_early(6) is is_early
    fixture.now_ms += 10_000
    fixture.again()
    assert not fixture.announcer.ends_early(6)


def test_question_has_the_sizes_of_autoscaled_jobs() -> None:
    """The process has no RayClusters, pods or ProvisioningRequests."""
    fixture = Fixture(scaled())
    fixture.again()
    (question,) = fixture.questions
    ((_, sizes),) = question.sizes.items()
    assert sizes.pod_sets["gpu"].asked == 3


async def loops() -> None:
    """Lets the tasks continue until they wait for time to pass."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_first_round_waits_for_the_first_pass() -> None:
    async def play() -> list[int]:
        fixture = Fixture(None)
        working = asyncio.create_task(fixture.announcer.run(cast("Kube", fixture)))
        await loops()
        before = len(fixture.questions)
        fixture.passed(jobs("new"))
        await loops()
        working.cancel()
        return [before, len(fixture.questions)]

    assert asyncio.run(play()) == [0, 1]


def test_round_that_raises_does_not_end_the_work(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> tuple[bool, float | None]:
        fixture = Fixture(jobs("new"))
        fixture.answer = ValueError("a bug")
        working = asyncio.create_task(fixture.announcer.run(cast("Kube", fixture)))
        await loops()
        ended = working.done()
        working.cancel()
        return ended, fixture.value("muster_eta_failures_total")

    assert asyncio.run(play()) == (False, 1)
    assert caplog.messages == ["a round of start estimates failed"]
