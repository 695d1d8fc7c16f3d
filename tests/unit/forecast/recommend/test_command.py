"""`muster recommend` from files to a patch: exit codes, reports, errors, and a run that was killed."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from muster.cli.main import main
from settings.load import load
from tests.unit.forecast.recommend.builders import STACK

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[4]
GRID = ("--vary", "queues.a.l4=4,8,12", "--vary", "queues.b.l4=4,8,12", "--vary", "pools.l4=16,24")
NODES = ("--assume", "scale_up_s=0")  # they are there
EASY = "p90 <= 65m"
HARD = "a p90 <= 1s"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stack file and a trace, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("stack.yaml").write_text(STACK)
    write_trace(24)
    return tmp_path


def write_trace(jobs: int) -> None:
    rows = [f"{'ab'[n % 2]}{n},{60 * (n // 2)},600,1,{'ab'[n % 2]},low,,,,4," for n in range(jobs)]
    heading = "name,submit_seconds,run_seconds,pods,queue,priority_class,user"
    heading += ",cpu,memory,nvidia.com/gpu,google.com/tpu"
    Path("trace.csv").write_text("\n".join([heading, *rows, ""]))


def recommend(*arguments: str, goal: str = EASY, vary: tuple[str, ...] = GRID) -> int:
    cli_arguments = (
        "--stack",
        "stack.yaml",
        "--trace",
        "trace.csv",
        "--goal",
        goal,
        *NODES,
        *vary,
        *arguments,
    )
    return main(["recommend", *cli_arguments])


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, goal: str = EASY) -> dict[str, object]:
    recommend("--json", *arguments, goal=goal)
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_the_answer_is_a_patch_of_the_stack_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend("--patch", "answer.patch") == 0
    output = capsys.readouterr().out
    assert re.search(r" recommended +12 ", output)
    assert "recommended: a.l4 8, b.l4 4, pools.l4 16" in output
    subprocess.run(["git", "apply", "answer.patch"], check=True)
    after = load(Path("stack.yaml"))
    quotas = {q.name: q.quotas["l4"]["nvidia.com/gpu"].nominal for q in after.queues.cluster_queues}
    assert quotas == {"a": "8", "b": "4"}
    assert Path("stack.yaml").read_text().count("#") == STACK.count("#")
    assert recommend("--patch", "again.patch") == 0
    assert "recommended, present" in capsys.readouterr().out
    assert not Path("again.patch").exists()


PRICED = """currency: USD
date: 2026-11-26
source: a list
acceleratorHour: {l4: {on-demand: 1.0, spot: 0.4}}
"""


def test_ways_to_buy_a_pool_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.yaml").write_text(PRICED)
    buy = ("--vary", "pools.l4.provisioning=on-demand,spot", "--prices", "prices.yaml")
    assert recommend("--pay", "use", "--patch", "answer.patch", vary=buy) == 0
    assert "recommended: pools.l4.provisioning spot" in capsys.readouterr().out
    subprocess.run(["git", "apply", "answer.patch"], check=True)
    (pool,) = (of for of in load(Path("stack.yaml")).pools if of.name == "l4")
    assert pool.provisioning == "spot"
    # A spot node that is reclaimed every few minutes costs more work than it saves.
    lost = ("--assume", "spot_interruptions_per_node_hour=12")
    Path("stack.yaml").write_text(STACK)
    recommend("--pay", "use", *lost, goal="p90 <= 20h", vary=buy)
    assert "the present settings are recommended" in capsys.readouterr().out


def test_usage_costs_what_gangs_hold(capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.yaml").write_text(PRICED)
    prices = ("--prices", "prices.yaml", "--json")
    recommend(*prices, vary=("--vary", "pools.l4=16,24"))
    quotas = json.loads(capsys.readouterr().out)["candidates"]
    assert [row["cost"] for row in quotas] == [16 * 730, 24 * 730]
    recommend(*prices, "--pay", "use", vary=("--vary", "pools.l4=16,24"))
    used = json.loads(capsys.readouterr().out)["candidates"]
    # 24 gangs of four GPUs hold them for 600 s of work, 30 s of start-up and 2 s of cleanup, each hour.
    assert [row["cost"] for row in used] == pytest.approx([24 * 4 * 632 / 3600 * 730] * 2)


def test_usage_has_no_cost_without_prices(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend("--pay", "use") == 2
    assert "--pay use needs prices: give --prices FILE" in capsys.readouterr().err


def test_a_pool_is_no_larger_than_its_quotas_need(capsys: pytest.CaptureFixture[str]) -> None:
    vary = ("--vary", "pools.l4=24,16", "--vary", "queues.a.l4=8", "--vary", "queues.b.l4=4,8")
    assert recommend(vary=vary) == 0
    assert "recommended: pools.l4 16, a.l4 8, b.l4 4" in capsys.readouterr().out


def test_goals_that_no_candidate_meets_have_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend("--patch", "answer.patch", goal=HARD) == 3
    captured = capsys.readouterr()
    assert "no candidate meets the goals; the closest is" in captured.out
    assert "a p90 is" in captured.out
    assert "answer.patch is not written: no candidate meets the goals" in captured.err
    assert not Path("answer.patch").exists()


def test_all_candidates_are_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys)
    candidates = document["candidates"]
    assert isinstance(candidates, list)
    assert document["invalid"] == {"the quotas of l4 exceed its pool; --vary pools.l4 can change that": 3}
    assert len(candidates) == 2 * 9 - 3
    (best,) = (candidate for candidate in candidates if candidate["recommended"])
    assert best["settings"] == {"queues.a.l4": 8, "queues.b.l4": 4, "pools.l4": 16}
    assert best["meets"]
    assert best["pareto"]
    cheaper = [
        candidate for candidate in candidates if candidate["meets"] and candidate["cost"] < best["cost"]
    ]
    assert not cheaper


def test_the_answer_names_what_is_assumed_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys)
    assert document["assumed_and_left_out"] == [
        {"what": "scale_up_s is 0 (default: 120)", "count": None, "configuration": None}
    ]
    recommend("--html", "page.html")
    assert "scale_up_s is 0 (default: 120)" in capsys.readouterr().out
    assert "scale_up_s is 0 (default: 120)" in Path("page.html").read_text()


def test_settings_are_recommended_for_another_demand(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "--scale", "all=2", goal="within 65m >= 90%")
    (best,) = (row for row in document["candidates"] if row["recommended"])  # type: ignore[attr-defined]
    assert best["settings"]["pools.l4"] > 8
    assert document["goals"] == [
        {"queue": "", "priority_class": "", "statistic": "within", "max_s": 3900, "min_share": 0.9}
    ]
    assert "demand of all x 2" in str(document["assumed_and_left_out"])


def test_weeks_are_resampled_for_all_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    """Each candidate has five futures; a trace of an hour has no days to draw."""
    assert recommend("--resample") == 2
    assert "--resample: trace.csv has less than two days" in capsys.readouterr().err
    heading = Path("trace.csv").read_text().splitlines()[0]
    rows = [f"a{n},{86_400 * (n // 4)},{3600 * (n // 4)},1,a,low,,,,4," for n in range(64)]
    Path("trace.csv").write_text("\n".join([heading, *rows, ""]))
    recommend("--resample", "--seeds", "5", goal="a p90 <= 1h")
    output = capsys.readouterr().out
    assert "each future is drawn from 2 weeks of the trace" in output
    assert re.search(r"[0-5]/5 ", output)


def test_the_queue_of_a_team_must_have_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert recommend("--add-team", "c", "--like", "a") == 2
    assert "--add-team c: no such queue; expected a queue of stack.yaml" in capsys.readouterr().err


def test_a_second_run_takes_its_results_from_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    first = printed(capsys)
    assert first == printed(capsys, "--fresh") == printed(capsys)
    recommend()
    assert "15 results from earlier runs" in capsys.readouterr().out
    recommend("--fresh")
    assert "earlier run" not in capsys.readouterr().out


def test_a_few_of_many_candidates_find_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "--candidates", "8")
    assert document["screened"] == 8
    assert document["goals_met"]
    assert document == printed(capsys, "--candidates", "8", "--fresh")


def test_prices_and_goals_may_be_in_the_stack_file(capsys: pytest.CaptureFixture[str]) -> None:
    forecast = (
        "  muster:forecast: {prices: {currency: EUR, date: 2026-11-26, source: contract, acceleratorHour: "
        "{l4: 0.5}}, trace: trace.csv, limits: [{queue: a, maxMinutes: 75}]}\n"
    )
    Path("stack.yaml").write_text(STACK + forecast)
    assert main(["recommend", "--stack", "stack.yaml", "--vary", "queues.a.l4=4,8", *NODES]) == 0
    output = capsys.readouterr().out
    assert re.search(r"goal +<= 1h15m", output)
    assert re.search(r"recommended +4,380  ", output)  # 0.5 an hour, 12 GPUs, 730 hours
    assert "EUR A MONTH" in output
    assert "prices are in EUR per accelerator-hour of 2026-11-26, contract" in output


PRICES = "{currency: EUR, date: 2026-11-26, source: list, acceleratorHour: {l4: 0.5}}"


def test_prices_may_be_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("prices.yaml").write_text(PRICES)
    assert recommend("--prices", "prices.yaml") == 0
    output = capsys.readouterr().out
    assert re.search(r"recommended +4,380  ", output)  # 0.5 an hour, 12 GPUs, 730 hours
    assert "prices are in EUR per accelerator-hour of 2026-11-26, list" in output


def test_the_page_needs_no_other_file(capsys: pytest.CaptureFixture[str]) -> None:
    recommend("--html", "page.html")
    text = Path("page.html").read_text()
    assert text.count("<circle") == 15
    assert "recommended</text>" in text
    assert not re.search(r"(src|href)=|url\(|@import|<script", text)


ERRORS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "an unknown queue": (("--vary", "queues.c.l4=4"), EASY, "no such entry in queues; expected one of: a, b"),
    "an unknown flavor": (
        ("--vary", "queues.a.h100=4"),
        EASY,
        "expected weight, or one of its flavors: cpu, l4",
    ),
    "nothing to change": ((), EASY, "give --vary TARGET=VALUES"),
    "a goal's syntax": (GRID, "a p90 < 5", 'expected "[QUEUE [CLASS]] mean|p50|p90|p95|p99 <= TIME"'),
    "a goal's queue": (GRID, "c p90 <= 5m", "queue 'c' is unknown; expected one of: a, b"),
    "a goal's class": (GRID, "a high p90 <= 5m", "the trace has no such job"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_mistake_is_named_with_what_is_expected(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    vary, goal, expected = ERRORS[name]
    assert recommend(goal=goal, vary=vary) == 2
    assert expected in capsys.readouterr().err


def test_no_goal_at_all_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", "--stack", "stack.yaml", "--trace", "trace.csv", *GRID]) == 2
    assert "no goal: give --goal" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_killed_search_resumes_with_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    write_trace(80)
    command = [sys.executable, "-m", "muster", "recommend", "--stack", "stack.yaml", "--trace", "trace.csv"]
    command += ["--goal", EASY, *GRID, "--assume", "failures_per_node_hour=0.5", "--seeds", "2", "--json"]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while finished() < 2:
        assert child.poll() is None, "the search ended before it could be killed"
        time.sleep(0.01)
    workers = psutil.Process(child.pid).children()
    child.kill()
    child.wait()
    before = finished()
    assert 2 <= before < 15
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive, "workers outlive a killed search"
    runs = []
    for options in ([], ["--fresh"]):
        run = subprocess.run([*command, *options], env=environment, capture_output=True, check=False)
        runs.append((run.returncode, json.loads(run.stdout)))
        assert finished() == 15
    assert runs[0] == runs[1]


def finished() -> int:
    return sum(file.read_text().count("\n") for file in Path(".muster/recommend").glob("*.jsonl"))


def test_two_searches_of_the_same_inputs_do_not_share_a_journal(capsys: pytest.CaptureFixture[str]) -> None:
    recommend()
    (journal,) = Path(".muster/recommend").glob("*.jsonl")
    hold = (
        "import fcntl, sys; file = open(sys.argv[1], 'ab'); fcntl.lockf(file, fcntl.LOCK_EX); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(journal)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert recommend() == 2
        assert "is in use by another search with the same inputs" in capsys.readouterr().err
        other.communicate(b"\n")
    assert recommend() == 0
