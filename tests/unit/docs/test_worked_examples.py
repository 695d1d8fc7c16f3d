"""The worked examples of PAGES, each applied to a copy of the checkout and run there."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.docs.markdown import ROOT

PAGES = ("CONTRIBUTING.md", "docs/adding-a-kind.md")
SECTION = re.compile(r"^### (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EDIT = re.compile(
    r"^\*\*`(?P<path>[^`]+)`\*\*(?: \(new\)|, below `(?P<below>[^`]+)`):\n\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CONSOLE = re.compile(
    r"^```console\n\$ python (?P<arguments>.+?)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)
TOP_LEVEL = (
    *("components", "docs", "drift", "examples", "muster", "package", "policies", "preview"),
    *(
        "sandbox",
        "settings",
        "stacks",
        "tests",
        "tools",
        "pyproject.toml",
        "README.md",
        "Pulumi.yaml",
        "__main__.py",
    ),
)
"""The parts of the checkout that a worked example may need."""


class Edit(NamedTuple):
    """A file to create, or text to insert below a line of an existing file."""

    path: str
    below: str | None
    text: str


class Example(NamedTuple):
    edits: tuple[Edit, ...]
    arguments: str
    output: str


def examples() -> Iterator[tuple[str, Example]]:
    """Yields the title and the steps of each worked example."""
    sections = (SECTION.findall((ROOT / page).read_text()) for page in PAGES)
    for title, body in chain.from_iterable(sections):
        edits = tuple(Edit(m["path"], m["below"], m["text"]) for m in EDIT.finditer(body))
        consoles = list(CONSOLE.finditer(body))
        assert edits, f"{title}: expected files to create or lines to insert"
        assert len(consoles) == 1, f"{title}: expected one console block"
        yield title, Example(edits, consoles[0]["arguments"], consoles[0]["output"])


EXAMPLES = dict(examples())
FILES_MAX = {
    "A verb of the command line": 3,
    "A setting of a GKE node pool": 3,
    "A rule between settings": 2,
    "A policy of the Pulumi pack": 2,
    "A kind of job": 3,
    "A metric": 2,
}
"""Files that each example may touch, with its test and generated files."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the checkout and of its bytecode, which stays valid: copied files keep their times."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("node_modules", ".muster", "*.pyc.*")  # such as bytecode being written
    for name in TOP_LEVEL:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy2(ROOT / name, folder / name)
    prefix = Path(sys.pycache_prefix or tmp_path_factory.mktemp("no-bytecode"))
    compiled, of_copy = (prefix / path.relative_to("/") for path in (ROOT, folder))
    if compiled.is_dir():
        shutil.copytree(compiled, of_copy, ignore=ignored)
    yield folder
    shutil.rmtree(of_copy, ignore_errors=True)


@contextmanager
def applied(edits: Iterable[Edit], checkout: Path) -> Iterator[None]:
    """Applies the edits, and reverts them."""
    paths = {checkout / edit.path for edit in edits}
    before = {path: path.read_bytes() for path in paths if path.exists()}
    try:
        for edit in edits:
            apply(edit, checkout)
        yield
    finally:
        for path in paths:
            if path in before:
                path.write_bytes(before[path])
            else:
                path.unlink(missing_ok=True)


def apply(edit: Edit, checkout: Path) -> None:
    path = checkout / edit.path
    if edit.below is None:
        assert not path.exists(), f"{edit.path} exists already"
        path.write_text(edit.text)
        return
    lines = path.read_text().splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if line.strip() == edit.below.strip()]
    assert len(at) == 1, f"{edit.path}: expected the line `{edit.below}` once, not {len(at)} times"
    path.write_text("".join([*lines[: at[0] + 1], edit.text, *lines[at[0] + 1 :]]))


@pytest.mark.thorough
@pytest.mark.parametrize("title", EXAMPLES)
def test_a_worked_example_runs(title: str, checkout: Path) -> None:
    example = EXAMPLES[title]
    command = [sys.executable, *example.arguments.split()]
    with applied(example.edits, checkout):
        run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    missing = [line for line in example.output.splitlines() if line not in run.stdout]
    assert missing == [], run.stdout


@pytest.mark.parametrize("title", FILES_MAX)
def test_a_worked_example_touches_few_files(title: str) -> None:
    assert len({edit.path for edit in EXAMPLES[title].edits}) <= FILES_MAX[title]
