"""Prose is extracted with its lines, names are checked as the parser binds them, and ceilings only fall."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from tools.prose import extract, names, rooms, vale
from tools.prose.check import Report, table
from tools.prose.extract import Line
from tools.prose.results import FileResult, results
from tools.prose.rooms import Ceiling, Count
from tools.prose.same_code import without_prose
from tools.prose.vale import ValeAlert
from tools.toolchain.ensure import find_tool
from tools.toolchain.tools import TOOLS

PROSE = {
    "a docstring": ("a.py", '"""Returns it."""\n', [Line(1, "Returns it.", summary=True)]),
    "only the first paragraph is the summary": (
        "a.py",
        'def f():\n    """Returns\n    it.\n\n    In bytes.\n    """\n',
        [
            Line(2, "Returns", summary=True),
            Line(3, "    it.", summary=True),
            Line(4, ""),
            Line(5, "    In bytes."),
            Line(6, "    "),
        ],
    ),
    "the docstring of an attribute": (
        "a.py",
        'A = 1\n"""Of a queue."""\n',
        [Line(2, "Of a queue.", summary=True)],
    ),
    "a comment": ("a.py", "a = 1  # why `a` is 1\n", [Line(1, "why X is 1")]),
    "a message": ("a.py", 'f(\n    "no such queue",\n)\n', [Line(2, "no such queue")]),
    "a message that alone fills its line is no docstring": (
        "a.py",
        'f(  # why\n    "no such queue"\n)\n',
        [Line(1, "why"), Line(2, "no such queue")],
    ),
    "a message with values": ("a.py", 'f"queue {a} is full"\n', [Line(1, "queue X is full")]),
    "a message without words in a row": ("a.py", 'f("spec.suspend", "a:b", r"\\d+ x")\n', []),
    "Markdown without its code": (
        "a.md",
        "Run `this`:\n```\nmake up\n```\nthen that\n",
        [Line(1, "Run X:"), Line(2, ""), Line(3, ""), Line(4, ""), Line(5, "then that")],
    ),
    "a comment in another file": (
        "a.yaml",
        "a: b#c # why\n# because\n",
        [Line(1, "why"), Line(2, "because")],
    ),
}


@pytest.mark.parametrize(("path", "text", "lines"), PROSE.values(), ids=PROSE)
def test_prose_has_its_lines(path: str, text: str, lines: list[Line]) -> None:
    assert list(extract.prose(path, text)) == lines


def test_text_keeps_line_numbers() -> None:
    lines = [Line(2, "  Returns it."), Line(4, "one message"), Line(4, "and another")]
    assert extract.as_text(lines) == "\nReturns it.\n\none message. and another\n"


NAMES = {
    "a local": ("def f():\n    found = 1\n    found = 2\n", [(2, "found")]),
    "a parameter": ("def f(*, wanted): ...\n", [(1, "wanted")]),
    "a function": ("class A:\n    def _kept(self): ...\n", [(2, "_kept")]),
    "a field": ("class A:\n    told: int\n", [(2, "told")]),
    "an attribute": ("def f(self):\n    self._known = 1\n", [(2, "_known")]),
    "a loop": ("for one in ():\n    pass\n", [(1, "one")]),
    "a comprehension": ("[one for one in ()]\n", [(1, "one")]),
    "an alias": ("import a as rest\n", [(1, "rest")]),
    "a lambda": ("f(lambda one: one)\n", [(1, "one")]),
    "each scope": ("def f(one): ...\ndef g(one): ...\n", [(1, "one"), (2, "one")]),
    "a use": ("f(found)\n", []),
    "a part of a name": ("left_pods = known_names = 1\n", []),
    "operands": ("def f(left, right): ...\n", []),
    "a word that is refused": ("def test_who_waits(): ...\n", [(1, "test_who_waits")]),
    "stand-ins": ("import a as stand_ins\n", []),
}


@pytest.mark.parametrize(("text", "places"), NAMES.values(), ids=NAMES)
def test_name_is_refused_where_it_is_bound(text: str, places: list[tuple[int, str]]) -> None:
    alerts = list(names.alerts("a.py", text))
    assert [(alert.line, alert.message.split("'")[1]) for alert in alerts] == places


def test_name_of_a_file_is_checked() -> None:
    assert [alert.message for alert in names.alerts("tests/test_who-waits.yaml", "")] == [
        "name 'test_who_waits_yaml' has a word that docs/style.md refuses"
    ]


CODE = "def f(a):\n    return a + 1\n"
PROSE_ONLY = {
    "a docstring": 'def f(a):\n    """Returns more."""\n    return a + 1\n',
    "a comment": "# why\ndef f(a):\n    return a + 1  # more\n",
    "a line break": "def f(\n    a,\n):\n    return a + 1\n",
}
OTHER_CODE = {
    "a name": "def f(b):\n    return b + 1\n",
    "a value": "def f(a):\n    return a + 2\n",
    "a message": "def f(a):\n    return a + 'a message'\n",
}


@pytest.mark.parametrize("source", PROSE_ONLY.values(), ids=PROSE_ONLY)
def test_prose_does_not_change_code(source: str) -> None:
    assert without_prose(source) == without_prose(CODE)


@pytest.mark.parametrize("source", OTHER_CODE.values(), ids=OTHER_CODE)
def test_everything_else_changes_code(source: str) -> None:
    assert without_prose(source) != without_prose(CODE)


ROOMS = {
    "README.md": ".",
    "docs/settings.md": "docs",
    "components/queues/queues.py": "components",
    "muster/admission/engine/engine.py": "muster/admission",
    "muster/__init__.py": "muster",
    "tests/unit/tools/test_prose.py": "tests/unit",
}


@pytest.mark.parametrize(("path", "room"), ROOMS.items())
def test_file_belongs_to_a_room(path: str, room: str) -> None:
    assert rooms.room(path) == room


HOLDS = {
    "at the target": (Ceiling(), Count(1000, 3, 0), True),
    "a turn more": (Ceiling(), Count(1000, 4, 0), False),
    "a part of a turn more": (Ceiling(), Count(999, 3, 0), False),
    "a name more": (Ceiling(), Count(1000, 0, 1), False),
    "below its entry": (Ceiling(5.0, 2), Count(1000, 4, 2), True),
    "no words": (Ceiling(), Count(), True),
}


@pytest.mark.parametrize(("ceiling", "count", "holds"), HOLDS.values(), ids=HOLDS)
def test_ceiling_bounds_both_counts(ceiling: Ceiling, count: Count, holds: bool) -> None:
    assert ceiling.holds(count) == holds


LOWERED = {
    "falls to the counts": (Ceiling(9.0, 9), Count(1000, 5, 4), Ceiling(5.0, 4)),
    "is not raised": (Ceiling(5.0, 4), Count(1000, 9, 9), Ceiling(5.0, 4)),
    "ends at the target": (Ceiling(5.0, 4), Count(1000, 1, 0), Ceiling()),
}


@pytest.mark.parametrize(("ceiling", "count", "lowered"), LOWERED.values(), ids=LOWERED)
def test_ceiling_only_falls(ceiling: Ceiling, count: Count, lowered: Ceiling) -> None:
    assert ceiling.lowered(count) == lowered


def test_ceilings_are_read_as_written() -> None:
    ceilings = {"muster/live": Ceiling(5.5, 3), "tests/unit": Ceiling(3.0, 8)}
    assert rooms.read(rooms.write(ceilings | {"docs": Ceiling()})) == ceilings


def test_refused_words_count_in_no_room() -> None:
    turn, refusal = (
        ValeAlert("docs/a.md", 1, "turn", refused=False),
        ValeAlert("docs/a.md", 2, "word", refused=True),
    )
    name = ValeAlert("drift/a.py", 1, "name", refused=False)
    report = Report({"docs/a.md": 500, "docs/b.md": 500, "drift/a.py": 9}, [turn, refusal], [name])
    assert report.counts() == {"docs": Count(1000, 1, 0), "drift": Count(9, 0, 1)}
    assert report.refused() == [refusal]


def test_table_has_a_row_for_each_room() -> None:
    header, *rows = table({"drift": Count(2000, 9, 2), "docs": Count(10, 0, 0)}, {"drift": Ceiling(5.0, 2)})
    assert [row.split() for row in rows] == [
        ["docs", "10", "0.0", "3.0", "0", "0"],
        ["drift", "2000", "4.5", "5.0", "2", "2"],
    ]
    assert len(header) == len(rows[0])


ALERTS = {
    "a turn in a comment": ("a.py", "a = 1\n# it ends at once\n", [(2, "at once", False)]),
    "a turn in a message": ("a.py", 'f(\n    f"{a} is over"\n)\n', [(2, "is over", False)]),
    "a turn in a docstring": ("a.py", '"""Returns\n\nthose that wait."""\n', [(3, "those that", False)]),
    "a refused word": ("a.md", "# Title\n\njobs whom quota waits for\n", [(3, "whom", True)]),
    "two in a line": ("a.md", "it stands here, made anew\n", [(1, "anew", True), (1, "stands", True)]),
    "the opening of a docstring": ("a.py", 'a = 1\n"""Of a\nqueue."""\n', [(2, "Of", True)]),
    "a clause as a docstring": ("a.py", '"""Whether it waits."""\n', [(1, "Whether", False)]),
    "an opening in a later paragraph": ("a.py", '"""Returns it.\n\nOf a queue.\n"""\n', []),
    "code": ("a.md", "run `who` and `at once`\n\n```\nwhoever\n```\n", []),
    "code in a comment": ("a.py", "# `at once` is an option\n", []),
    "stand-ins": ("a.md", "a stand-in, stand-ins\n", []),
    "a part of another word": ("a.md", "whole, standard, understand, recommend\n", []),
}


@pytest.mark.slow
@pytest.mark.parametrize(("path", "text", "places"), ALERTS.values(), ids=ALERTS)
def test_vale_reports_the_house_style(path: str, text: str, places: list[tuple[int, str, bool]]) -> None:
    executable = find_tool(TOOLS["vale"])
    if executable is None:
        pytest.skip("Vale is not built: make lint builds it")
    alerts = vale.alerts(executable.path, {f"folder/{path}": text})
    assert {alert.path for alert in alerts} <= {f"folder/{path}"}
    quoted = [(alert.line, alert.message.split("'")[-2], alert.refused) for alert in alerts]
    assert quoted == places


def test_every_ceiling_is_above_a_target() -> None:
    ceilings = rooms.read(rooms.CEILINGS.read_text())
    assert [name for name, ceiling in ceilings.items() if ceiling == Ceiling()] == []
    assert rooms.write(ceilings) == Path(rooms.CEILINGS).read_text()
    assert all(a < b for a, b in pairwise(ceilings))


TEXTS = {"a.md": "a turn\n", "b.py": "found = 1\n"}


def checked(texts: Mapping[str, str], seen: list[str]) -> dict[str, FileResult]:
    """Results with a stand-in for Vale that alerts in each file and notes in `seen` what it reads."""

    def turns(texts: Mapping[str, str]) -> list[ValeAlert]:
        seen.extend(texts)
        return [ValeAlert(path, 1, "turn", refused=False) for path in texts]

    return results(texts, turns)


def test_only_changed_files_are_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    first = checked(TEXTS, [])
    assert [alert.path for alert in first["b.py"].names] == ["b.py"]
    again: list[str] = []
    assert checked(TEXTS, again) == first
    assert again == []
    changed = checked(TEXTS | {"b.py": "pods = 1\n"}, again)
    assert (again, changed["b.py"].names, changed["a.md"]) == (["b.py"], (), first["a.md"])


def test_results_without_vale_are_not_used_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    assert results(TEXTS, None)["a.md"].turns is None
    assert len(checked(TEXTS, [])["a.md"].turns or ()) == 1


@pytest.mark.parametrize("text", ["", "[]", '{"a": {"words": 1}}', '{"a": 1}'])
def test_a_damaged_cache_is_replaced(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    expected = checked(TEXTS, [])
    (file,) = (tmp_path / "prose").iterdir()
    file.write_text(text)
    assert checked(TEXTS, []) == expected
