"""`make up` over a running sandbox, hints with NAME and ENGINE, and commands on a stopped sandbox."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from sandbox import running, scenario, shell
from sandbox.__main__ import logs, main
from sandbox.apply import apply
from sandbox.cluster.processes import Processes
from sandbox.running import engine_of, named, require_unused, require_up
from sandbox.stack_file import deployed
from sandbox.up import up
from tools.bootstrap import without_sandboxes
from tools.toolchain.console import duration
from tools.toolchain.paths import NAME_VARIABLE, RunState
from tools.toolchain.steps import StepError

NO_SERVER = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {}}],
}


@pytest.fixture
def state(tmp_path: Path) -> RunState:
    """A sandbox with engine kueue and one running process: the test's own."""
    state = RunState("mine", tmp_path)
    state.make()
    deployed(state).write_text(yaml.safe_dump({"config": {"muster:admission": {"engine": "kueue"}}}))
    state.kubeconfig.write_text(yaml.safe_dump(NO_SERVER))
    state.timings.write_text('{"engine": "kueue"}')
    Processes(state).adopt("kueue", os.getpid(), state.log("kueue"))
    return state


@pytest.mark.parametrize(
    ("name", "target", "variables", "typed"),
    [
        ("local", "status", {}, "make status"),
        ("mine", "status", {}, "make status NAME=mine"),
        ("local", "up", {"ENGINE": "muster"}, "make up"),
        ("mine", "up", {"ENGINE": "kai", "FRESH": "1"}, "make up NAME=mine ENGINE=kai FRESH=1"),
    ],
)
def test_commands_name_only_what_is_not_the_default(
    name: str, target: str, variables: dict[str, str], typed: str
) -> None:
    assert RunState(name).command(target, **variables) == typed


def test_up_over_a_running_sandbox_changes_nothing_and_names_the_next_commands(
    state: RunState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_contents", lambda state: "with RayJob team-a/train")
    with pytest.raises(
        StepError, match=r"sandbox mine is up already: engine kueue, for \d+[smhd], "
    ) as refused:
        up(state, "kai")
    assert "with RayJob team-a/train; nothing was changed" in str(refused.value)
    assert "make apply NAME=mine" in refused.value.try_this
    assert "make up NAME=mine ENGINE=kai FRESH=1" in refused.value.try_this
    assert deployed(state).exists()


@pytest.mark.parametrize("kubeconfig", [True, False])
def test_a_sandbox_whose_up_failed_is_reported_as_incomplete(state: RunState, kubeconfig: bool) -> None:
    state.timings.unlink()
    if not kubeconfig:
        state.kubeconfig.unlink()
    with pytest.raises(StepError, match=r"not completely\): .*its API server does not respond"):
        require_unused(state, "muster")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(lambda s: apply(s), id="apply"),
        pytest.param(lambda s: scenario.scenario(s, None), id="scenario"),
    ],
)
def test_commands_report_an_api_server_that_does_not_answer(command: object, state: RunState) -> None:
    assert callable(command)
    with pytest.raises(StepError, match=r"^the API server of sandbox mine does not respond") as refused:
        command(state)
    assert refused.value.try_this == "make status NAME=mine"


def test_a_stopped_sandbox_is_free(tmp_path: Path) -> None:
    require_unused(RunState("mine", tmp_path), "muster")


def test_the_engine_of_a_stopped_sandbox_is_its_last_one(state: RunState) -> None:
    assert engine_of(state) == "kueue"
    deployed(state).unlink()
    assert engine_of(state) == "kueue"
    state.timings.unlink()
    assert engine_of(state) == "muster"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(lambda s: apply(s), id="apply"),
        pytest.param(lambda s: scenario.scenario(s, None), id="scenario"),
        pytest.param(lambda s: shell.exports(s), id="env"),
    ],
)
def test_commands_on_a_stopped_sandbox_name_the_running_ones(command: object, state: RunState) -> None:
    assert callable(command)
    with pytest.raises(StepError, match=r"^sandbox typo is not up; running: mine$") as refused:
        command(RunState("typo", state.checkout))
    assert refused.value.try_this == "make up NAME=typo"


def test_a_stopped_sandbox_is_started_with_its_last_engine(state: RunState) -> None:
    (state.processes / "kueue.json").unlink()
    with pytest.raises(StepError, match=r"^sandbox mine is not up$") as refused:
        require_up(state)
    assert refused.value.try_this == "make up NAME=mine ENGINE=kueue"


def test_an_unknown_scenario_is_refused_with_a_list() -> None:
    with pytest.raises(StepError, match="engine kai has no scenario 'jobs'") as refused:
        scenario.chosen("kai", "jobs")
    assert refused.value.try_this == "SCENARIO= one of: serving"
    assert [s.name for s in scenario.chosen("muster", "serving")] == ["serving"]
    assert [s.name for s in scenario.chosen("muster", None)] == ["jobs", "serving", "elastic"]


def test_env_prints_nothing_to_evaluate_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(NAME_VARIABLE, "nothing-of-that-name")
    assert main(["env"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "sandbox nothing-of-that-name is not up" in output.err


def test_logs_of_an_unknown_process_list_the_processes(state: RunState) -> None:
    state.log("etcd").write_text("")
    with pytest.raises(StepError, match="sandbox mine has no log of 'typo'; choose one of etcd") as refused:
        logs(state, "typo", False, 10)
    assert refused.value.try_this == "make logs NAME=mine PROCESS=etcd"


def test_logs_are_the_engines_by_default(state: RunState, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr("os.execvp", lambda _file, argv: ran.append(argv))
    state.log("kueue").write_text("")
    logs(state, None, True, 10)
    assert ran == [["tail", "-n", "10", "-F", str(state.log("kueue"))]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172800, "2d")],
)
def test_durations_are_written_as_kubectl_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_many_jobs_are_counted() -> None:
    jobs = [("RayJob", {"metadata": {"namespace": "a", "name": str(n)}}) for n in range(7)]
    assert named(jobs) == "RayJob a/0, RayJob a/1, RayJob a/2, RayJob a/3, RayJob a/4 and 2 more"
    assert named(jobs[:1]) == "RayJob a/0"


def test_a_sandboxs_commands_are_not_found_as_tools() -> None:
    path = os.pathsep.join(["/work/.muster/mine/bin", "/usr/bin", f"{sys.prefix}/bin"])
    assert without_sandboxes(path) == os.pathsep.join(["/usr/bin", f"{sys.prefix}/bin"])
