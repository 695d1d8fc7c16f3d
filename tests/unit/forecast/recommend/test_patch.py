"""The answer as a patch: the text of a stack file changes where it must, and git applies the difference."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.forecast.recommend.changes import changed
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.patch import patch, path_in_repository
from muster.forecast.recommend.variables import parse_variables
from muster.forecast.recommend.yaml_edits import edited
from settings.load import load
from tests.unit.forecast.recommend.builders import STACK, built

CHECKOUT = Path(__file__).parents[4]

EDITS: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "a value": ("{a: 1} # kept", lambda c: c.update(a=2), "{a: 2} # kept"),
    "text that is quoted": ('a: "1"  # kept', lambda c: c.update(a="2"), "a: '2'  # kept"),
    "a key in braces": ("{a: 1}", lambda c: c.update(b=2), "{a: 1, b: 2}"),
    "a key in empty braces": ("{}", lambda c: c.update(b=2), "{b: 2}"),
    "a key on its own line": (
        "a: 1 # kept\nc: {d: 1}",
        lambda c: c.update(b=2),
        "a: 1 # kept\n  b: 2\n  c: {d: 1}",
    ),
    "a key after the first whole line": (
        "a:\n  - 1\nc: 1",
        lambda c: c.update(b=2),
        "a:\n    - 1\n  c: 1\n  b: 2",
    ),
    "a key where no line is whole": ("a:\n  - 1", lambda c: c.update(b=2), "b: 2\n  a:\n    - 1"),
    "a value that becomes a mapping": ("{a: 1}", lambda c: c.update(a={"b": 1}), "{a: {b: 1}}"),
    "an entry of a list": ("- a: 1\n- a: 1", lambda c: c[1].update(a=2), "- a: 1\n  - a: 2"),
    "a number that becomes text": ("a: 1", lambda c: c.update(a="1"), "a: '1'"),
    "a key that is removed from braces": ("{a: 1, b: 2, c: 3}", lambda c: c.pop("b"), "{a: 1, c: 3}"),
    "the last key of braces": ("{a: 1, b: 2}", lambda c: c.pop("b"), "{a: 1}"),
    "the only key of braces": ("{a: 1}", lambda c: c.pop("a"), "{}"),
    "a line that is removed": ("a: 1 # kept\nb: 2\nc: 3", lambda c: c.pop("b"), "a: 1 # kept\n  c: 3"),
    "the last line": ("a: 1 # kept\nb: 2", lambda c: c.pop("b"), "a: 1 # kept"),
    "a key that is replaced": (
        "{a: 1, b: 2}",
        lambda c: (c.pop("b"), c.update(c=3)),
        "{a: 1, c: 3}",
    ),
    "no value": ("a: 1", lambda c: c.update(a=None), "a: null"),
}


@pytest.mark.parametrize("name", EDITS)
def test_only_what_differs_is_written(name: str) -> None:
    before, change, after = EDITS[name]
    text = f"config:\n  {before.replace(chr(10), chr(10) + '  ')}\n"
    expected = yaml.safe_load(text)["config"]
    change(expected)
    assert edited(text, expected) == f"config:\n  {after}\n"


def test_line_ends_stay() -> None:
    text = "# one\r\nconfig:\r\n  a: 1 # two\r\n  c: 3\r\n"
    assert (
        edited(text, {"a": 4, "b": 2, "c": 3}) == "# one\r\nconfig:\r\n  a: 4 # two\r\n  b: 2\r\n  c: 3\r\n"
    )


def test_a_value_that_another_shares_is_not_changed() -> None:
    with pytest.raises(RecommendError, match="share text"):
        edited("config: {a: &x {n: 1}, b: *x}", {"a": {"n": 2}, "b": {"n": 1}})


STACKS = {path.stem: path for path in sorted((CHECKOUT / "stacks").glob("*.yaml"))}
VARIED = {
    "Pulumi.dev": ["pools.gpu-node-pool=12", "queues.team-a.l4.borrowingLimit=3"],
    "Pulumi.local": ["queues.team-a.l4=6", "queues.team-b.l4.lendingLimit=2"],
    "Pulumi.prod": ["pools.l4-queued=48", "queues.foundation-models.h100.lendingLimit=none"],
    "Pulumi.staging": ["queues.research.l4-spot=4", "queues.research.l4.borrowingLimit=2"],
}


@pytest.mark.parametrize("name", STACKS)
def test_git_applies_a_patch_of_a_stack_and_the_settings_load(name: str, tmp_path: Path) -> None:
    before = STACKS[name].read_text()
    after = _varied(before, VARIED[name])
    lines = len(after.split("\n"))
    assert lines == len(before.split("\n"))
    assert after.count("#") == before.count("#")
    copy = tmp_path / "stacks" / "copy.yaml"
    copy.parent.mkdir()
    copy.write_text(before)
    _apply(patch("stacks/copy.yaml", before, after), tmp_path)
    assert copy.read_text() == after
    load(copy)


PATCHED = {
    "the last line has an end": "a: 1\nb: 2\n",
    "the last line has no end": "a: 1\nb: 2",
    "lines of Windows": "a: 1\r\nb: 2\r\n",
    "a separator that is no line end for git": "a: 1\nb: 2\u2028 # 3\n",
}


@pytest.mark.parametrize("name", PATCHED)
def test_git_applies_any_line_end(name: str, tmp_path: Path) -> None:
    before = PATCHED[name]
    for after in (before.replace("b: 2", "b: 3"), before.replace("a: 1", "a: 3")):
        file = tmp_path / "one.yaml"
        file.write_text(before, newline="")
        _apply(patch("one.yaml", before, after), tmp_path)
        assert file.read_bytes().decode() == after


def test_no_change_is_no_patch() -> None:
    assert patch("one.yaml", STACK, STACK) == ""


def test_the_path_of_a_patch_begins_at_the_top_of_the_repository(tmp_path: Path) -> None:
    file = tmp_path / "stacks" / "one.yaml"
    file.parent.mkdir()
    assert path_in_repository(file) == "one.yaml"
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert path_in_repository(file) == "stacks/one.yaml"


def _varied(text: str, vary: list[str]) -> str:
    config = yaml.safe_load(text)["config"]
    values = {variable: variable.values[0] for variable in parse_variables(vary, config)}
    expected = changed(config, built(config).pools, values)
    assert expected != config
    return edited(text, expected)


def _apply(text: str, folder: Path) -> None:
    file = folder / "answer.patch"
    file.write_text(text, newline="")
    subprocess.run(["git", "apply", file.name], cwd=folder, check=True, capture_output=True)
