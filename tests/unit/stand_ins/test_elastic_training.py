"""The program of examples/cpu-elastic-train.rayjob.yaml, with tasks that run in this process, not in Ray."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tools.toolchain.paths import CHECKOUT

EXAMPLE = CHECKOUT / "examples" / "cpu-elastic-train.rayjob.yaml"
DEADLINE, SHARDS = "2026-11-26T14:20:31Z", 8


class Training:
    """Ray in the program: `announce` is the new content of its file by the step in which it is written, and
    `end` is the step in which the head ends."""

    def __init__(self, folder: Path, announce: dict[int, str], end: int = 0) -> None:
        self._announce, self._end, self._tasks = announce, end, 0
        self.file, self.checkpoint = folder / "shrinks-at", folder / "train" / "checkpoint.json"
        self.file.write_text("")

    def remote(self, **_: Any) -> Callable[[Callable[..., Any]], SimpleNamespace]:
        return lambda function: SimpleNamespace(remote=lambda *values: self._run(function, *values))

    def _run(self, function: Callable[..., Any], *values: Any) -> Any:
        step, self._tasks = self._tasks // SHARDS, self._tasks + 1
        if self._end and step == self._end:
            raise SystemExit
        if step in self._announce:
            self.file.write_text(self._announce[step])
        return function(*values)

    def step(self) -> int:
        return int(json.loads(self.checkpoint.read_text())["step"])


def run(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = SimpleNamespace(init=lambda: None, remote=training.remote, get=list)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setenv("CHECKPOINTS", str(training.checkpoint.parents[1]))
    monkeypatch.setenv("RAY_CLUSTER_NAME", "train-abcde")
    monkeypatch.setenv("SHRINKS_AT", str(training.file))
    (script,) = (
        m["data"]["train.py"] for m in yaml.safe_load_all(EXAMPLE.read_text()) if m["kind"] == "ConfigMap"
    )
    exec(compile(script, EXAMPLE.name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(
    ("announce", "end", "saved"),
    [
        pytest.param({}, 40, None, id="before the first regular checkpoint"),
        pytest.param({}, 70, 50, id="a regular checkpoint"),
        pytest.param({10: DEADLINE}, 40, 11, id="when workers are about to go"),
        pytest.param({10: DEADLINE, 20: ""}, 40, 21, id="when they have gone"),
        pytest.param({10: DEADLINE, 20: "2026-11-26T15:00:00Z"}, 40, 21, id="at each notice"),
    ],
)
def test_it_saves_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, announce: dict[int, str], end: int, saved: int | None
) -> None:
    training = Training(tmp_path, announce, end)
    with pytest.raises(SystemExit):
        run(training, monkeypatch)
    assert (training.step() if training.checkpoint.exists() else None) == saved


def test_it_resumes_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(Training(tmp_path, {10: DEADLINE}, end=40), monkeypatch)
    run(Training(tmp_path, {}), monkeypatch)
    assert capsys.readouterr().out.splitlines() == [
        "started at step 0",
        f"workers go at {DEADLINE}: saved step 11",
        "resumed at step 11",
        "result: y = 3.000 x + 1.000",
    ]
