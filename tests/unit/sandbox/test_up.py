"""The first step of `make up`: an earlier sandbox is replaced only if the settings are valid."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox import up as up_module
from sandbox.cluster.processes import Processes
from sandbox.scenarios.jobs import JOBS
from sandbox.stack_file import SOURCE, deployed
from sandbox.up import Environment, up
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Processes]:
    """A sandbox with one running process."""
    processes = Processes(RunState("mine", tmp_path))
    processes.start("etcd", ["sleep", "60"])
    yield processes
    processes.stop_everything()


def edited(folder: Path, gpus: int, machine: str = "g2-standard-4") -> Path:
    content = yaml.safe_load(SOURCE.read_text())
    queue, pool = content["config"]["muster:queues"]["clusterQueues"][0], content["config"]["muster:pools"][1]
    queue["quotas"]["l4"]["nvidia.com/gpu"] = {"nominal": gpus, "borrowingLimit": 0}
    pool["machineType"] = machine
    path = folder / SOURCE.name
    path.write_text(yaml.safe_dump(content))
    return path


def test_valid_settings_replace_a_running_sandbox(running: Processes, tmp_path: Path) -> None:
    environment = Environment(running.state, "kueue", edited(tmp_path, gpus=6))
    assert environment.settle([JOBS]) == "2 pools: system, l4"
    assert running.table() == {}
    config = yaml.safe_load(deployed(running.state).read_text())["config"]
    assert config["muster:admission"]["engine"] == "kueue"


@pytest.mark.parametrize(
    ("gpus", "machine", "message", "remedy"),
    [
        pytest.param(4, "typo-4", r"muster:pools\[1\]", "edit ", id="a setting that is wrong"),
        pytest.param(
            0,
            "g2-standard-4",
            "scenario jobs needs 1 nvidia.com/gpu of flavor l4",
            "make up NAME=mine SCENARIO=no",
            id="a quota too small for the scenario",
        ),
    ],
)
def test_invalid_settings_keep_the_running_sandbox(
    running: Processes, tmp_path: Path, gpus: int, machine: str, message: str, remedy: str
) -> None:
    environment = Environment(running.state, "muster", edited(tmp_path, gpus, machine))
    with pytest.raises(StepError, match=message) as refused:
        environment.settle([JOBS])
    assert remedy in refused.value.try_this
    assert running.table()["etcd"].process() is not None


def test_without_scenarios_a_small_quota_is_enough(running: Processes, tmp_path: Path) -> None:
    assert Environment(running.state, "muster", edited(tmp_path, gpus=0)).settle([]) == "2 pools: system, l4"


@pytest.mark.parametrize("name", ["jobset", "lws"])
@pytest.mark.parametrize(("install", "runs"), [("none", False), ("existing", True)])
def test_the_controllers_of_other_jobs_run_where_the_stack_relies_on_them(
    tmp_path: Path, name: str, install: str, runs: bool
) -> None:
    content = yaml.safe_load(SOURCE.read_text())
    content["config"][f"muster:{name}"] = {"install": install}
    source = tmp_path / SOURCE.name
    source.write_text(yaml.safe_dump(content))
    environment = Environment(RunState("mine", tmp_path), "muster", source)
    environment.settle([])
    assert (name in environment.tool_names()) is runs


def test_a_real_ray_needs_an_engine_that_suspends_jobs(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="engine kai") as refused:
        up(RunState("mine", tmp_path), "kai", real_ray=True)
    assert refused.value.try_this == "make up NAME=mine RAY=real"


@pytest.mark.parametrize(("real", "installs"), [(False, False), (True, True)])
def test_ray_is_installed_only_for_a_real_ray(tmp_path: Path, real: bool, installs: bool) -> None:
    steps = Environment(RunState("mine", tmp_path), "muster", real_ray=real).steps([])
    assert ("Ray" in [step.name for step in steps]) == installs


@pytest.mark.parametrize("text", ["config: [", "- a list", "config:\n  muster:environment: local\n"])
def test_an_invalid_stack_file_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / SOURCE.name
    path.write_text(text)
    with pytest.raises(StepError, match=r"Pulumi.local.yaml: ") as refused:
        Environment(RunState("mine", tmp_path), "kai", path).settle([])
    assert refused.value.try_this == f"edit {path}"


def test_a_mistake_in_the_stack_file_shows_before_any_tool_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ensure_tools(*_arguments: object) -> None:
        raise AssertionError("tools are built")

    monkeypatch.setattr(up_module, "ensure_tools", ensure_tools)
    with pytest.raises(StepError, match=r"muster:pools\[1\]"):
        up(RunState("mine", tmp_path), "muster", source=edited(tmp_path, 4, "typo-4"))
    steps = [line.partition("] ")[2] for line in capsys.readouterr().out.splitlines()]
    assert [step.partition(":")[0] for step in steps] == ["environment", "settings", "settings"]
    assert steps[-1].startswith("settings: FAILED")


@pytest.mark.parametrize("engine", ["muster", "kueue", "kai"])
@pytest.mark.parametrize("real_ray", [False, True])
def test_settings_are_checked_first(tmp_path: Path, engine: str, real_ray: bool) -> None:
    steps = [
        step.name for step in Environment(RunState("mine", tmp_path), engine, real_ray=real_ray).steps([])
    ]
    assert steps[:2] == ["settings", "tools"]
