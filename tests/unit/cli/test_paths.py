"""Each parameter of each verb that takes a path, with each bad input: one line with the expected value.

The parameters are those of the verbs themselves: a new one must have a type of muster/cli/paths.py, or to
be named here as no path.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from muster import cli
from muster.cli.main import VERBS, muster
from muster.cli.paths import FolderPath, InputPath, OutputPath
from muster.files import reading
from muster.files.reading import Patience
from muster.forecast.traces import __main__ as traces_command
from tests.unit.files.builders import BAD_INPUTS, bad_input

BOUND_S = 20.0  # on a busy machine; each takes a fraction of a second
NO_PATHS = {
    "add_team",
    "address",
    "age",
    "assume",
    "base_map",
    "columns",
    "configuration",
    "container",
    "context",
    "format",
    "goal",
    "headroom",
    "host_names",
    "http_address",
    "identity",
    "job",
    "lease",
    "lease_name",
    "lease_namespace",
    "like",
    "limit",
    "map",
    "name",
    "names",
    "namespace",
    "pod_set",
    "priority_class",
    "queue",
    "ray",
    "scale",
    "vary",
    "what",
    "within",
}
"""Parameters of any text that are no paths."""
CLOSED = (
    click.Choice,
    click.IntRange,
    click.FloatRange,
    *map(type, (click.BOOL, click.INT, click.FLOAT)),
)


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for verb in VERBS:
        command = muster.get_command(click.Context(muster), verb)
        assert command is not None
        yield from ((verb, parameter) for parameter in command.params)


def test_every_parameter_has_a_type_of_paths_or_is_none() -> None:
    any_text = {
        f"{verb} {parameter.opts[0]} ({parameter.name})"
        for verb, parameter in parameters()
        if not isinstance(parameter.type, (*CLOSED, InputPath, OutputPath, FolderPath))
        and parameter.name not in NO_PATHS
    }
    assert any_text == set()


def test_names_that_are_no_paths_are_those_of_parameters() -> None:
    assert {name for _, parameter in parameters() for name in [parameter.name]} >= NO_PATHS


READING = sorted(
    f"{verb} {parameter.opts[0]}" for verb, parameter in parameters() if isinstance(parameter.type, InputPath)
)
BESIDE: Mapping[str, list[str]] = {
    "eta": ["rayjob/a"],
    "forecast --kubeconfig": ["--cluster", "--trace=examples/traces/three-teams.csv"],
    "forecast --prices": ["--stack=prod"],
    "forecast --queues": ["--trace=examples/traces/three-teams.csv"],
    "forecast --stack": ["--trace=examples/traces/three-teams.csv"],
    "forecast --trace": ["--stack=prod"],
    "logs": ["rayjob/a"],
    "plan --base": ["--stack=prod"],
    "plan --base-queues": ["--queues=tests/unit/cli/test_paths.py"],
    "plan --change": ["--stack=prod"],
    "plan --prices": [
        "--queues=examples/forecast/public-trace/64-gpus.yaml",
        "--base-queues=examples/forecast/public-trace/32-gpus.yaml",
    ],
    "plan --queues": ["--base-queues=examples"],
    "plan --stack": ["--base=main"],
    "plan --trace": ["--stack=prod", "--change=examples/changes/fewer-l4s.patch"],
    "recommend --prices": ["--stack=prod"],
    "recommend --stack": [],
    "recommend --trace": ["--stack=prod"],
    "resume": ["queue", "a"],
    "stop": ["queue", "a"],
    "try": ["--filename=examples/dev-finetune.rayjob.yaml"],
    "try --filename": [],
    "why": ["rayjob/a"],
}
"""Further arguments that a verb needs: for one parameter, else for any of them."""
HISTORY = ["--queues={folder}/queues.yaml"]
STACK_OPTIONS = ("--stack", "--base")
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: w
  namespace: default
  ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: a, uid: u}]
spec: {queueName: q, podSets: [{name: main, count: 1, template: {spec: {containers: []}}}]}
"""


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", Patience(idle_s=0.05, total_s=0.2))


def arguments(what: str, path: str, folder: Path) -> list[str]:
    """Returns a command with a path for its parameter."""
    verb, option = what.split()
    beside = BESIDE.get(what, BESIDE.get(verb, []))
    if option == "--history":
        beside = [*beside, *HISTORY]
    named = [path] if not option.startswith("-") else [option, path]
    return [verb, *named, *(option_name.format(folder=folder) for option_name in beside)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", BAD_INPUTS)
@pytest.mark.parametrize("what", READING)
def test_bad_inputs_are_one_line(
    what: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    (bad := tmp_path / "bad").mkdir()
    path = bad_input(name, bad)
    if what.split()[1] in STACK_OPTIONS and path and "\0" not in path:
        (tmp_path / "stack.yaml").symlink_to(path)
        path = str(tmp_path / "stack.yaml")
    began_s = time.monotonic()
    assert cli.main(arguments(what, path, tmp_path)) == 2
    assert time.monotonic() - began_s < BOUND_S
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"muster {what.split()[0]}: ")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_specifications_of_traces_are_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert traces_command.main([bad_input(name, tmp_path)]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_only_path_of_that_command_is_its_specification() -> None:
    paths = [action.dest for action in traces_command.parser()._actions if action.type is Path]
    assert paths == ["specification"]
    assert {action.dest for action in traces_command.parser()._actions} == {"help", "seed", *paths}


DEEP_JSON = [
    f"{verb} {parameter.opts[0]}" for verb, parameter in parameters() if parameter.name == "configuration"
]


@pytest.mark.parametrize("what", DEEP_JSON)
def test_deep_json_is_one_line(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    verb = what.split()[0]
    sides = {
        "plan": ["--base-queues={folder}/queues.yaml", "--queues={folder}/queues.yaml"],
        "forecast": ["--queues={folder}/queues.yaml"],
    }
    beside = [*BESIDE.get(verb, []), *sides.get(verb, [])]
    deep = '{"rules": ' + "[" * 50_000
    assert (
        cli.main([verb, "--configuration", deep, *(option.format(folder=tmp_path) for option in beside)]) == 2
    )
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
