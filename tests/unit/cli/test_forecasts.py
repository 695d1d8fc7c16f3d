"""`muster forecast` and `muster plan`: their output, exit codes, and messages for wrong input."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from muster.admission import HOSTNAME
from muster.cli import configurations, inputs, main
from muster.cli.plan import EXCEEDED_BEFORE, VIOLATED
from muster.cli.recommend_stack import read_stack
from tests.unit.forecast.builders import flavor, queue, racks
from tests.unit.forecast.recommend.builders import STACK as RECOMMEND_STACK
from tests.unit.settings.builders import with_engine

pytestmark = pytest.mark.slow

TRACE = """name,submit_seconds,run_seconds,pods,queue,nvidia.com/gpu
one,0,10,1,a,8
two,1,10,1,a,8
"""
CANCELLED = """\
JobID|Submit|Start|End|State|ReqTRES
1|2026-03-01T00:00:00|Unknown|2026-03-01T00:10:00|CANCELLED by 5|gres/gpu=1
"""
STACK = Path("stacks/Pulumi.prod.yaml")
PATCH = "examples/forecast/fewer-l4s.patch"
BLOCK = "cloud.google.com/gce-topology-block"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a trace, and manifests with 16 and with 8 GPUs."""
    (tmp_path / "trace.csv").write_text(TRACE)
    (tmp_path / "cancelled.txt").write_text(CANCELLED)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.yaml").write_text("{")
    (tmp_path / "nothing.yaml").write_text("kind: Pod")
    (tmp_path / "l4-prices.yaml").write_text(PRICED)
    (tmp_path / "racks.yaml").write_text(yaml.safe_dump_all([*racks(), queue("a", 8, flavor="racks")]))
    two = [flavor(), queue("a", 8), queue("b", 8)]
    (tmp_path / "two.yaml").write_text(yaml.safe_dump_all(two))
    for name, gpus in (("many", 16), ("few", 8)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all([flavor(), queue("a", gpus)]))
    return tmp_path


def test_a_forecast_is_the_same_each_time(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["forecast", f"--queues={files}/few.yaml", f"--trace={files}/trace.csv", "--json"]
    printed = []
    for _ in range(2):
        assert main(command) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    whole = json.loads(printed[0])["futures"][0]["waits"][0]
    assert (whole["count"], whole["mean_s"]) == (2, 30 + (30 + 10 + 2 - 1) / 2)


def test_a_plan_shows_jobs_that_wait_longer(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queues = [f"--base-queues={files}/many.yaml", f"--queues={files}/few.yaml"]
    out = [f"--markdown={files}/plan.md", f"--html={files}/a/new/plan.html"]
    assert main(["plan", *queues, f"--trace={files}/trace.csv", *out]) == 0
    shown = capsys.readouterr().out
    assert "two  a" in shown
    assert "▲" in shown
    assert "### Waiting times: few.yaml" in (files / "plan.md").read_text()
    assert "<html" in (files / "a" / "new" / "plan.html").read_text()


def test_another_demand_is_forecast_and_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["forecast", f"--queues={files}/few.yaml", f"--trace={files}/trace.csv", "--json"]
    demand = ["--scale=a=2", "--add-team=b", "--like=a", "--scale=b=0.5"]
    assert main([*command, *demand]) == 0
    document = json.loads(capsys.readouterr().out)
    jobs = {row.get("queue"): row["count"] for row in document["futures"][0]["waits"] if "size" not in row}
    assert jobs["a"] == 4
    assert [row["what"] for row in document["assumed_and_left_out"] if "assumed" in row["what"]] == [
        "queue b is assumed, with the quotas of a in addition to all others"
    ]


def test_weeks_are_resampled(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"job-{n},{86_400 * n},{3600 * n},1,a,8\n" for n in range(30))
    (files / "weeks.csv").write_text(TRACE.splitlines()[0] + "\n" + rows)
    queues = [f"--base-queues={files}/many.yaml", f"--queues={files}/few.yaml", f"--trace={files}/weeks.csv"]
    assert main(["plan", *queues, "--resample", "--seeds=5", f"--html={files}/plan.html"]) == 0
    assert "each future is drawn from 4 weeks of the trace" in capsys.readouterr().out
    assert "each future is drawn from 4 weeks" in (files / "plan.html").read_text()


def test_headroom_is_printed_for_each_limit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"job-{n},{60 * n},50,1,a,8\n" for n in range(100))
    (files / "regular.csv").write_text(TRACE.splitlines()[0] + "\n" + rows)
    command = ["forecast", f"--queues={files}/few.yaml", f"--trace={files}/regular.csv", "--headroom=a"]
    limits = ["--limit=a p90 <= 10m", "--limit=a within 5m >= 1%", "--within=1m", f"--html={files}/page.html"]
    assert main([*command, *limits]) == 0
    shown = capsys.readouterr().out
    assert "a          a p90 <= 10m00s" in shown
    assert "not up to +100%" in shown
    page = (files / "page.html").read_text()
    for title in ("Jobs that start in time", "Demand at which limits are first exceeded"):
        assert title in shown
        assert f">{title}</h2>" in page


def test_limits_are_in_the_output_of_a_forecast(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They had an effect only with --headroom."""
    command = ["forecast", f"--queues={files}/few.yaml", f"--trace={files}/trace.csv"]
    limits = ["--limit=a p90 <= 1s", "--limit=a within 1d >= 50%"]
    assert main([*command, *limits, "--json"]) == 0
    late, early = json.loads(capsys.readouterr().out)["limits"]
    assert (late["limit"], late["met"], late["futures"]) == ("a p90 <= 1s", False, 0)
    assert (early["limit"], early["met"], early["value"]) == ("a within 1d00h >= 50.0%", True, 0)
    assert main([*command, *limits, f"--html={files}/page.html"]) == 0
    for text in (capsys.readouterr().out, (files / "page.html").read_text()):
        assert "a within 1d00h &gt;= 50.0%" in text or "a within 1d00h >= 50.0%" in text


def test_a_team_that_the_change_adds_has_a_row_of_its_own(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queues = [f"--base-queues={files}/few.yaml", f"--queues={files}/two.yaml", f"--trace={files}/trace.csv"]
    demand = ["--add-team=b", "--like=a", "--within=1h", f"--markdown={files}/plan.md"]
    assert main(["plan", *queues, *demand]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("b ")]
    assert rows[0][:2] == ["b", "-"]
    comment = (files / "plan.md").read_text()
    assert "| b |  | - to 2 | - | 100.0% | - |" in comment
    assert "jobs of b are copies of a's" in comment


def test_a_plan_exits_by_service_levels(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queues = [f"--base-queues={files}/many.yaml", f"--queues={files}/few.yaml", f"--trace={files}/trace.csv"]
    assert main(["plan", *queues, "--limit=a within 30s >= 100%"]) == VIOLATED
    assert (
        "limit exceeded: a: 50.0% of the jobs start within 30s (before: 100.0%); the limit is 100.0%"
        in capsys.readouterr().out
    )
    assert main(["plan", *queues, "--limit=a within 30s >= 50%"]) == 0


LIMITS = "  muster:forecast: {limits: [{queue: a, statistic: p90, maxMinutes: 1}]}\n"
LIMITED = RECOMMEND_STACK.replace("cohort: ml", "", 1).replace("{max: 16}", "{max: 32}") + LIMITS
EXIT_CODES: dict[str, tuple[int, int, int]] = {
    "no limit is exceeded": (16, 16, 0),
    "the change exceeds a limit": (16, 8, VIOLATED),
    "the base exceeds the limit by as much": (8, 8, EXCEEDED_BEFORE),
}


@pytest.mark.parametrize("name", EXIT_CODES)
def test_a_plan_exits_by_the_limits_that_the_change_exceeds(
    name: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, expected = EXIT_CODES[name]
    for side, gpus in (("before", before), ("after", after)):
        (files / f"{side}.yaml").write_text(
            LIMITED.replace("nvidia.com/gpu: 8}", f"nvidia.com/gpu: {gpus}}}")
        )
    stacks = [f"--stack={files}/after.yaml", f"--base={files}/before.yaml", "--assume=scale_up_s=0"]
    code = main(["plan", *stacks, f"--trace={files}/trace.csv", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == expected
    exceeded = [bool(document[key]) for key in ("violations", "exceeded_before_too")]
    assert exceeded == [expected == VIOLATED, expected == EXCEEDED_BEFORE]


def test_a_plan_shows_what_half_of_a_budget_delays(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each job uses 8 GPU hours; the first period begins with the trace."""
    (files / "hours.csv").write_text(TRACE.splitlines()[0] + "\none,0,3570,1,a,8\ntwo,1,3570,1,a,8\n")
    budgets = "        budgets: [{resource: nvidia.com/gpu, hours: %s, period: day}]\n"
    for side, hours in (("before", 20), ("after", 10)):
        stack = RECOMMEND_STACK.replace("        cohort: ml\n", f"        cohort: ml\n{budgets % hours}", 1)
        (files / f"{side}.yaml").write_text(stack)
    stacks = [f"--stack={files}/after.yaml", f"--base={files}/before.yaml", "--assume=scale_up_s=0"]
    out = [f"--markdown={files}/plan.md", f"--html={files}/plan.html"]
    command = ["plan", *stacks, f"--trace={files}/hours.csv", *out]
    assert main(command) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    name = ["ClusterQueue", "a", "nvidia.com/gpu", "all", "day"]
    assert [line for line in shown if line[:3] == name[:3]] == [
        [*name, "before", "hard", "20.0", "16.0", "0", "of", "1", "-"],
        [*name, "after", "hard", "10.0", "16.0", "1", "of", "1", "1h15m"],
    ]
    for report in (files / "plan.md", files / "plan.html"):
        assert "Budgets, in hours a period" in report.read_text()
    assert main([*command, "--json"]) == 0
    after = json.loads(capsys.readouterr().out)["budgets"][1]
    assert (after["side"], after["used_up_in"], after["first_used_up_s"]) == ("after", 1, 4500)


PRICED = "{currency: USD, date: 2026-11-26, source: a contract, acceleratorHour: {l4: 2}}"
RESERVED = "provisioning: reserved\n      reservation: ours\n      nodes: {max: 16}"


def test_each_row_of_a_plan_says_what_it_costs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = RECOMMEND_STACK + f"  muster:forecast: {{prices: {PRICED}}}\n"
    (files / "before.yaml").write_text(stack)
    (files / "after.yaml").write_text(stack.replace("nodes: {max: 16}", RESERVED))
    stacks = [f"--stack={files}/after.yaml", f"--base={files}/before.yaml", "--assume=scale_up_s=0"]
    out = [f"--markdown={files}/plan.md", f"--html={files}/plan.html"]
    assert main(["plan", *stacks, f"--trace={files}/trace.csv", *out]) == 0
    capsys.readouterr()
    comment, page = (files / "plan.md").read_text(), (files / "plan.html").read_text()
    # Two jobs hold 8 GPUs for 42 s in an hour of submissions; 16 GPUs are reserved for 730 hours.
    for row in ("| a | l4 | 273 | 273 | 0 |", "| all queues |  | 273 | 23,360 | +23,087 |"):
        assert row in comment
    assert "prices are in USD per accelerator-hour of 2026-11-26, a contract" in comment
    assert "Cost of a month in USD</h2>" in page
    assert "prices are in USD" in page


def test_a_forecast_has_costs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "stack.yaml").write_text(RECOMMEND_STACK + f"  muster:forecast: {{prices: {PRICED}}}\n")
    command = ["forecast", f"--stack={files}/stack.yaml", f"--trace={files}/trace.csv"]
    assert main([*command, "--assume=scale_up_s=0", "--json"]) == 0
    costs = json.loads(capsys.readouterr().out)["cost_of_a_month"]
    assert (costs["currency"], costs["date"], costs["source"]) == ("USD", "2026-11-26", "a contract")
    assert costs["sides"][0]["total"] == pytest.approx(2 * 8 * 42 / 3600 * 2 * 730)
    assert main([*command]) == 0
    assert "Cost of a month in USD" in capsys.readouterr().out


SIDES: Mapping[str, tuple[list[str], list[float]]] = {
    "a forecast of manifests": (["forecast"], [2 * 8 * 42 / 3600 * 3 * 730]),
    "a plan of manifests, with the same prices on both sides": (
        ["plan", "--base-queues={}/many.yaml"],
        [2 * 8 * 42 / 3600 * 3 * 730] * 2,
    ),
}
"""The command, and the costs of a month of its sides: two jobs hold 8 GPUs for 42 s in an hour."""


@pytest.mark.parametrize("name", SIDES)
def test_prices_of_a_file_apply_to_manifests(
    name: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, totals = SIDES[name]
    prices = PRICED.replace("l4: 2", "h100: 3, l4: 2")
    (files / "prices.yaml").write_text(prices)
    inputs_of = ["--queues={}/few.yaml", "--trace={}/trace.csv", "--prices={}/prices.yaml", "--json"]
    assert main([argument.format(files) for argument in (*command, *inputs_of)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [side["total"] for side in document["cost_of_a_month"]["sides"]] == pytest.approx(totals)
    assert "prices are in USD per accelerator-hour of 2026-11-26, a contract" in [
        row["what"] for row in document["assumed_and_left_out"]
    ]


def test_prices_of_a_file_replace_prices_of_the_stack(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "stack.yaml").write_text(RECOMMEND_STACK + f"  muster:forecast: {{prices: {PRICED}}}\n")
    (files / "prices.yaml").write_text(PRICED.replace("USD", "EUR").replace("l4: 2", "l4: 4"))
    command = ["forecast", f"--stack={files}/stack.yaml", f"--trace={files}/trace.csv", "--json"]
    costs = []
    for more in ([], [f"--prices={files}/prices.yaml"]):
        assert main([*command, *more]) == 0
        costs.append(json.loads(capsys.readouterr().out)["cost_of_a_month"])
    assert [cost["currency"] for cost in costs] == ["USD", "EUR"]
    assert costs[1]["sides"][0]["total"] == pytest.approx(2 * costs[0]["sides"][0]["total"])


def test_a_patch_is_applied_to_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    before = STACK.read_text()
    assert main(["plan", "--stack=prod", f"--change={PATCH}", "--days=1", "--seeds=1"]) == 0
    assert "after (prod with fewer-l4s.patch)" in capsys.readouterr().out
    assert STACK.read_text() == before


def test_assumptions_are_listed_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forecast", "--assumptions"]) == 0
    assert "provisioning_median_s" in capsys.readouterr().out


def test_pools_of_accelerators_that_are_not_queued_are_autoscaled() -> None:
    assert configurations.stack("prod").configuration.autoscaled == {"l4": 0, "v6e-4x4": 0}


def test_pools_are_paid_and_interrupted_as_they_are_bought() -> None:
    prod = configurations.stack("prod").configuration
    assert prod.reserved == {"v6e-4x4": 32}
    assert prod.node_life_s["l4-queued"] == 7 * 86_400
    assert prod.spot == frozenset()
    assert configurations.stack("staging").configuration.spot == {"l4-spot"}


def with_topology(folder: Path) -> Path:
    """A copy of stack prod whose L4s are in blocks of two nodes, of which gangs require one."""
    config = yaml.safe_load(STACK.read_text())
    (pool,) = (of for of in config["config"]["muster:pools"] if of["name"] == "l4")
    pool["topology"] = [BLOCK, HOSTNAME]
    config["config"]["muster:forecast"]["topologies"] = {
        "l4": {"nodesPerDomain": {BLOCK: 2}, "required": BLOCK}
    }
    file = folder / "racks.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def test_gangs_are_placed_on_nodes_of_the_pools(tmp_path: Path) -> None:
    configuration = configurations.stack(str(with_topology(tmp_path))).configuration
    nodes = configuration.snapshot.nodes
    pool_size = len(nodes)
    assert pool_size > 2
    last = nodes[f"l4-{pool_size - 1}"]
    assert last.labels[BLOCK] == f"l4-{(pool_size - 1) // 2}"
    assert last.labels["cloud.google.com/gke-nodepool"] == "l4"
    # GKE reserves part of the CPUs and of the memory.
    assert last.allocatable["nvidia.com/gpu"] >= 1
    assert last.allocatable["cpu"] % 1000
    assert configuration.topology_requests["l4"].required == BLOCK


def test_nodes_of_a_file_replace_those_of_the_pools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = with_topology(tmp_path)
    labels = configurations.stack(str(stack)).configuration.snapshot.nodes["l4-0"].labels
    whole = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x", "labels": {**labels, BLOCK: "r"}}}
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump({"items": [whole]}))
    arguments = ["forecast", f"--stack={stack}", "--days=1", "--seeds=1"]
    assert main(arguments) == 0
    assert f"assumed nodes, 2 in each {BLOCK}" in capsys.readouterr().out
    assert main([*arguments, f"--nodes={tmp_path}/nodes.yaml"]) == 0
    output = capsys.readouterr().out
    assert "assumed nodes" not in output
    assert f"gangs of its queues require one {BLOCK}" in output


def test_candidates_have_the_nodes_of_their_pools(tmp_path: Path) -> None:
    stack = read_stack(str(with_topology(tmp_path)), None)
    config = deepcopy(stack.config)
    (pool,) = (of for of in config["muster:pools"] if of["name"] == "l4")
    pool["nodes"]["max"] += 4
    before, after = stack.build(stack.config), stack.build(config)
    count = len(before.configuration.snapshot.nodes)
    assert len(after.configuration.snapshot.nodes) == count + 4
    assert before.digest != after.digest


def test_advice_replaces_defaults_but_no_setting(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard = {"machineType": "a3-highgpu-8g", "provisioningModel": "FLEX_START", "zone": "zones/a"}
    scores = {"obtainability": 0.5, "estimatedWaitDuration": "900s"}
    response = {"recommendations": [{"scores": scores, "shards": [shard]}]}
    (files / "advice.json").write_text(json.dumps(response))
    arguments = [
        "forecast",
        f"--queues={files}/few.yaml",
        f"--trace={files}/trace.csv",
        f"--advice={files}/advice.json",
        "--assume=provisioning_median_s=60",
    ]
    assert main(arguments) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "stock_out_probability is 0.5 (default: 0)" in output
    assert "provisioning_median_s is 60 (default: 300)" in output
    assert "FLEX_START a3-highgpu-8g in a: obtainability 0.5" in output


def test_kueue_tries_again_after_a_second(tmp_path: Path) -> None:
    file = tmp_path / "stack.yaml"
    file.write_text(Path("stacks/Pulumi.local.yaml").read_text().replace("engine: muster", "engine: kueue"))
    assert configurations.stack(str(file)).assumptions["requeue_s"] == 1
    assert "requeue_s" not in configurations.stack("local").assumptions


WRONG: Mapping[str, tuple[list[str], str]] = {
    "no configuration": (
        ["--trace={}/trace.csv"],
        "no configuration: give --stack NAME in a checkout, --queues PATH, or --cluster",
    ),
    "no trace": (["--queues={}/few.yaml"], "no trace: give --trace FILE"),
    "no such trace": (["--queues={}/few.yaml", "--trace={}/x.csv"], "x.csv: No such file"),
    "a queue that is scaled twice": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--scale=a=2", "--scale=a=3"],
        "'a' is given twice, as '2' and as '3'; expected it once",
    ),
    "a user that is mapped twice": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--map=u=a", "--map=u=b"],
        "'u' is given twice, as 'a' and as 'b'; expected it once",
    ),
    "only jobs that are skipped": (
        ["--queues={}/few.yaml", "--trace={}/cancelled.txt", "--queue=a", "--cancelled=skip"],
        "cancelled.txt: no job is left: all 1 were cancelled before they started",
    ),
    "an empty trace": (["--queues={}/few.yaml", "--trace={}/empty.csv"], "empty.csv: the file is empty"),
    "no such manifests": (["--queues={}/x", "--trace={}/trace.csv"], "x: no manifests; expected"),
    "manifests that are no YAML": (
        ["--queues={}/broken.yaml", "--trace={}/trace.csv"],
        "expected valid YAML",
    ),
    "no queue": (["--queues={}/nothing.yaml", "--trace={}/trace.csv"], "no ClusterQueue"),
    "no such stack": (["--stack=prodd"], "no such stack file; expected one of: "),
    "an unknown assumption": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--assume=startup=1"],
        "assumption 'startup' is unknown; expected one of: start_up_s",
    ),
    "an assumption that is no number": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--assume=start_up_s=fast"],
        "assumption start_up_s: 'fast' is not a number",
    ),
    "a negative assumption": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--assume=start_up_s=-1"],
        "start_up_s is -1; expected 0 or more",
    ),
    "pods that terminate immediately": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--assume=termination_s=0"],
        "termination_s is 0; expected 1 or more, as no pod terminates sooner",
    ),
    "an infinite assumption": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--assume=start_up_s=inf"],
        "start_up_s is inf; expected 0 or more",
    ),
    "a page that cannot be written": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--html={}/trace.csv/page.html"],
        "page.html: File exists; give a path that can be written",
    ),
    "jobs mapped to an unknown queue": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--map=ann=b"],
        "jobs are mapped to queue 'b', which is unknown; expected one of: a",
    ),
    "a demand that is no number": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--scale=a=more"],
        "--scale a=more: expected a number from 0 to 100, such as 1.3",
    ),
    "the demand of an unknown queue": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--scale=b=2"],
        "--scale b: no such queue; expected one of: a, all",
    ),
    "a team without a model": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--add-team=b"],
        "--add-team is given 1 times and --like 0 times; expected a --like QUEUE for each",
    ),
    "a team like itself": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--add-team=a", "--like=a"],
        "--add-team a: expected another queue than --like",
    ),
    "a team like an unknown queue": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--add-team=b", "--like=c"],
        "--like c: no such queue; expected one of: a",
    ),
    "a team like a queue without jobs": (
        ["--queues={}/two.yaml", "--trace={}/trace.csv", "--add-team=c", "--like=b"],
        "trace.csv has no job of queue b; expected a queue with jobs",
    ),
    "a team twice": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", *("--add-team=b", "--like=a") * 2],
        "--add-team names a queue twice; expected each once",
    ),
    "headroom of an unknown queue": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--headroom=b", "--limit=a p90 <= 1m"],
        "--headroom b: no such queue; expected one of: a, all",
    ),
    "headroom without a limit": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--headroom=a"],
        "--headroom needs a limit: give --limit, or muster:forecast.limits in the stack file",
    ),
    "a limit of an unknown queue": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--limit=b p90 <= 1m"],
        "queue 'b' is unknown; expected one of: a",
    ),
    "a limit that is no limit": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--limit=a p90 = 1m"],
        "goal 'a p90 = 1m': expected ",
    ),
    "a time without a unit": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--within=5"],
        "--within: '5' is not a duration; expected one such as 90s",
    ),
    "a trace too short to resample": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--resample"],
        "--resample: {}/trace.csv has less than two days; expected at least two",
    ),
    "no such prices": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--prices={}/x.yaml"],
        "x.yaml: No such file or directory; expected prices in YAML",
    ),
    "prices of other flavors": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--prices={}/l4-prices.yaml"],
        "l4-prices.yaml: acceleratorHour has no flavor of few.yaml; expected at least one of: h100",
    ),
    "nodes without a topology": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--nodes={}/few.yaml"],
        "few.yaml: no flavor has a topology, so it would place no gang",
    ),
    "nodes of other flavors": (
        ["--queues={}/racks.yaml", "--trace={}/trace.csv", "--nodes={}/few.yaml"],
        "few.yaml: none of its 0 nodes has the labels and topology levels of flavor racks of racks.yaml; "
        "expected at least one of each flavor with a topology",
    ),
    "advice that is no response": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--advice={}/trace.csv"],
        "trace.csv: JSON is malformed",
    ),
    "no day left": (
        ["--queues={}/few.yaml", "--trace={}/trace.csv", "--since-day=3"],
        "no job is submitted in the days",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_explained(name: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = WRONG[name]
    assert main(["forecast", *(argument.format(files) for argument in arguments)]) == 2
    assert message.replace("{}", str(files)) in capsys.readouterr().err


def test_queues_that_no_job_has_are_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other: list[dict[str, Any]] = [flavor(), queue("b", 8)]
    (files / "other.yaml").write_text(yaml.safe_dump_all(other))
    assert main(["forecast", f"--queues={files}/other.yaml", f"--trace={files}/trace.csv"]) == 2
    message = capsys.readouterr().err
    assert "queue 'a' is not in the configuration (2 jobs)" in message
    assert "Its queues are b; use --map NAME=QUEUE" in message


def test_jobs_have_another_queue_before_the_change_only_if_mapped(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """User ann gets a queue: her job is not in the base, unless --base-map names its queue there."""
    trace = TRACE.replace("queue", "user,queue").replace("1,a", "bob,a", 1).replace("1,a", "ann,a", 1)
    (files / "users.csv").write_text(trace.replace("pods,", ""))
    (files / "own.yaml").write_text(yaml.safe_dump_all([flavor(), queue("a", 8), queue("own", 8)]))
    queues = [f"--base-queues={files}/few.yaml", f"--queues={files}/own.yaml", "--map=ann=own"]
    means = []
    for more in ([], ["--base-map=ann=a"]):
        assert main(["plan", *queues, *more, f"--trace={files}/users.csv", "--json"]) == 0
        waits = json.loads(capsys.readouterr().out)["waits"]
        means += [
            (row["base_s"], row["changed_s"])
            for row in waits
            if len(row) == 4 and (row.get("queue"), row["statistic"]) in {("a", "mean_s"), ("own", "mean_s")}
        ]
    alone, both = 30, 30 + (30 + 10 + 2 - 1) / 2
    assert means == [(alone, alone), (None, alone), (both, alone), (None, alone)]


PATCHES = {
    "no such file": ("none.patch", "", "No such file"),
    "not of this file": ("other.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "does not apply"),
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_that_changes_nothing_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text, message = PATCHES[name]
    if text:
        (tmp_path / file).write_text(text)
    assert main(["plan", "--stack=prod", f"--change={tmp_path}/{file}"]) == 2
    assert message in capsys.readouterr().err


def test_kai_is_not_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = tmp_path / "local.yaml"
    stack.write_text(yaml.safe_dump({"config": with_engine("kai")}))
    assert main(["forecast", f"--stack={stack}"]) == 2
    assert "admission.engine is kai, which decides differently" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("took_s", "compiled", "says_so"),
    [(inputs.SLOW_S + 1, False, True), (inputs.SLOW_S + 1, True, False), (1.0, False, False)],
)
def test_long_simulations_with_an_interpreted_core_say_how_to_be_faster(
    took_s: float,
    compiled: bool,
    says_so: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter((0.0, took_s))
    monkeypatch.setattr(inputs, "time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(inputs, "is_compiled", lambda: compiled)
    with inputs.progress("prod: 984 jobs"):
        pass
    printed = capsys.readouterr().err
    assert ("prod: 984 jobs: 31 s, as the admission core is interpreted" in printed) is says_so
