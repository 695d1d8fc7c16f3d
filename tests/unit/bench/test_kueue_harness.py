"""Kueue's performance harness: its files and its table."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.bench.kueue_harness.engine import Cost
from tests.bench.kueue_harness.figures import Figure, figures
from tests.bench.kueue_harness.measured import ClassMeans, Run, parse, problem
from tests.bench.kueue_harness.results import Compared, Results, save, title
from tests.bench.kueue_harness.targets import TARGETS, WALL, Target
from tests.bench.kueue_harness.writes import writes

SUMMARY = """
clusterQueueClasses:
  cq:
    cpuAverageUsage: 45000
    cpuUsed: 1350000000
    firstEventTime: "2026-11-22T15:40:00.5Z"
    lastEventTime: "2026-11-22T15:40:30.5Z"
    nominalQuota: 60000
droppedWorkloadEvents: {dropped}
workloadClasses:
  small:
    averageTimeToAdmissionMs: 24280
    averageTimeToFinishMs: 24620
    count: 210
    totalEvictions: 19
  large:
    averageTimeToAdmissionMs: 4197
    averageTimeToFinishMs: 5219
    count: 30
    totalEvictions: 0
"""
COST = {"wall_s": 33.0, "cpu_s": 1.5, "rss_mb": 80.0, "api_cpu_s": 6.0, "etcd_cpu_s": 1.2, "writes": {}}
METRICS = """
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",dry_run="",group="kueue.x-k8s.io",resource="workloads",subresource="status",verb="APPLY",version="v1beta2"} 749
apiserver_request_total{code="409",dry_run="",group="kueue.x-k8s.io",resource="workloads",subresource="status",verb="APPLY",version="v1beta2"} 1
apiserver_request_total{code="201",dry_run="",group="kueue.x-k8s.io",resource="workloads",subresource="",verb="POST",version="v1beta2"} 300
apiserver_request_total{code="200",dry_run="",group="kueue.x-k8s.io",resource="workloads",subresource="",verb="LIST",version="v1beta2"} 9
apiserver_request_total{code="201",dry_run="",group="events.k8s.io",resource="events",subresource="",verb="POST",version="v1"} 1.2e+03
apiserver_request_total{code="201",dry_run="",group="rbac.authorization.k8s.io",resource="roles",subresource="",verb="POST",version="v1"} 70
"""  # noqa: E501 - lines as the API server writes them


STATES = """id,class name,namespace,name,ms to admitted,ms to finish,num evictions
0,small,cq-0,small-0-0-0,0,300,0
1,small,cq-0,small-0-1-0,50,{second},0
"""
GENERATOR = """
cohorts:
- count: 5
  queuesSets:
  - count: 6
    workloadsSets:
    - count: {each}
      workloads: [{{className: small}}, {{className: large}}]
    - count: 1
      workloads: [{{className: large}}]
"""


def run(
    wall_s: float = 10.0, usage: float = 0.9, writes: dict[str, int] | None = None, engine: str = ""
) -> Run:
    classes = {name: ClassMeans(50, 2.0, 3.0, 1) for name in ("large", "medium", "small")}
    return Run(engine, classes, usage, 0, Cost(wall_s, 1.0, 20.0, 0.3, 0.1, writes or {}))


def missed(config: str, muster: list[Run], kueue: list[Run]) -> list[str]:
    return [figure.what for figure in figures(config, muster, kueue) if not figure.met]


def test_summary_of_the_runner_is_read_in_seconds_and_shares() -> None:
    read = parse("kueue", SUMMARY.format(dropped=0), "", COST)
    assert read.classes == {
        "large": ClassMeans(30, 4.197, 5.219, 0),
        "small": ClassMeans(210, 24.28, 24.62, 19),
    }
    assert (read.usage, read.dropped_events, read.workloads) == (0.75, 0, 240)
    assert read.cost.wall_s == 33


TIMED = """id,class name,namespace,name,ms to admitted,ms to finish,num evictions
0,small,cq-0,small-0-0-0,0,300,0
1,small,cq-0,small-0-1-0,50,500,0
2,large,cq-0,large-0-0-0,10,0,0
3,large,cq-0,large-0-1-0,30,20,0
"""


def test_workloads_that_the_runner_did_not_time_are_left_out_of_means() -> None:
    """The runner dropped their creation: in its means they did not wait."""
    read = parse("kueue", SUMMARY.format(dropped=2), TIMED, COST)
    assert read.classes == {
        "large": ClassMeans(30, 0.02, 0.02, 0),
        "small": ClassMeans(210, 0.05, 0.5, 19),
    }
    assert read.dropped_events == 2


@pytest.mark.parametrize(
    ("second", "each", "dropped", "says"),
    [
        pytest.param(400, 2, 0, "", id="complete"),
        pytest.param(0, 2, 0, "it ended before 1 of 150 workloads were finished", id="interrupted"),
        pytest.param(0, 2, 1, "", id="the last change of one was not recorded"),
        pytest.param(400, 3, 0, "it saw 150 of 210 workloads", id="not all were created"),
    ],
)
def test_a_run_that_ended_early_is_no_result(second: int, each: int, dropped: int, says: str) -> None:
    early_run = replace(run(), dropped_events=dropped)
    assert problem(early_run, STATES.format(second=second), GENERATOR.format(each=each)) == says


def test_writes_are_counted_by_verb_and_kind_whatever_their_answer() -> None:
    assert writes(METRICS) == {"POST events": 1200, "APPLY workloads/status": 750, "POST workloads": 300}


@pytest.mark.parametrize(
    ("target", "muster", "kueue", "met"),
    [
        pytest.param(Target("<=", 0.5), 5.0, 10.0, True, id="half"),
        pytest.param(Target("<=", 0.5), 5.1, 10.0, False, id="more than half"),
        pytest.param(Target("<", 1), 10.0, 10.0, False, id="as long"),
        pytest.param(Target("<", 1), 0.0, 0.0, False, id="neither waits"),
        pytest.param(Target(">=", 0.85, of_ratio=False), 0.85, 0.99, True, id="a share, whatever Kueue's is"),
        pytest.param(Target(">=", 0.85, of_ratio=False), 0.84, 0.5, False, id="a smaller share"),
    ],
)
def test_target(target: Target, muster: float, kueue: float, met: bool) -> None:
    assert target.met(muster, kueue) is met


@pytest.mark.parametrize(
    ("figure", "row"),
    [
        pytest.param(
            Figure("wall", "s", 60.04, 100.0, Target("<=", 0.5)),
            ("wall", "60.0 s !", "100 s", "0.60", "<= 0.5"),
            id="missed",
        ),
        pytest.param(
            Figure("usage", "%", 0.871, 0.4, Target(">=", 0.85, of_ratio=False)),
            ("usage", "87.1%", "40.0%", "2.18", ">= 85%"),
            id="share",
        ),
        pytest.param(
            Figure("evictions", "", 33, 0), ("evictions", "33", "0", "", ""), id="nothing to compare"
        ),
        pytest.param(
            Figure("writes", "a workload", 1.174, 2.5),
            ("writes", "1.17 a workload", "2.50 a workload", "0.47", ""),
            id="each",
        ),
    ],
)
def test_row(figure: Figure, row: tuple[str, ...]) -> None:
    assert figure.row() == row


def test_figures_are_medians_of_the_rounds() -> None:
    muster, kueue = [run(4), run(30), run(5)], [run(10), run(8), run(11)]
    (wall,) = (figure for figure in figures("small", muster, kueue) if figure.what == WALL)
    assert (wall.muster, wall.kueue) == (5, 10)


def test_a_kind_that_one_engine_does_not_write_has_a_row() -> None:
    muster, kueue = run(writes={"POST events": 300, "POST leases": 0}), run(writes={"PUT localqueues": 150})
    rows = {
        f.what.strip(): (f.muster, f.kueue) for f in figures("small", [muster], [kueue]) if "a work" in f.unit
    }
    assert rows["writes"] == (2, 1)
    assert (rows["POST events"], rows["PUT localqueues"]) == ((2, 0), (0, 1))
    assert "POST leases" not in rows


@pytest.mark.parametrize("config", ["baseline", "large-scale"])
def test_every_target_belongs_to_a_figure(config: str) -> None:
    same = figures(config, [run()], [run()])
    assert {figure.what for figure in same if figure.target} == TARGETS[config].keys()


def test_missed_targets_are_named() -> None:
    assert missed("small", [run()], [run()]) == []
    slower = missed("baseline", [run(wall_s=6, usage=0.8)], [run()])
    assert slower[0] == WALL
    assert "queue usage" in slower
    assert "mean time to admission, small" in slower
    assert missed("large-scale", [run(wall_s=5, usage=0.8)], [run()])[0] == "mean time to admission, large"


def test_saved_results_have_figures_and_runs(tmp_path: Path) -> None:
    path, runs = tmp_path / "baseline.json", [run(6, writes={"POST events": 3}), run()]
    save(path, title("baseline", runs), figures("baseline", runs[:1], runs[1:]), runs)
    saved = msgspec.json.decode(path.read_bytes(), type=Results)
    assert saved.runs == runs
    assert saved.title == "Kueue's performance harness, baseline: 150 workloads"
    assert {figure.what for figure in saved.figures if figure.target} == TARGETS["baseline"].keys()
    assert saved.figures[0] == Compared(WALL, 6, 10, "6.00 s", "10.0 s", "0.60", "<= 0.5", False)
