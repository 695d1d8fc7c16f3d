"""YAML that is read, and YAML that is refused before it costs time or memory."""

import pytest

from muster.files.errors import FileError
from muster.files.yaml_documents import ALIASED_NODES_MAX, DEPTH_MAX, document, documents
from tests.unit.files.builders import TEXTS

BYTES = ("NUL only", "UTF-16", "Latin-1")
"""No text at all."""


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in BYTES])
def test_bad_yaml_is_an_error(name: str) -> None:
    with pytest.raises(FileError, match=r"^a\.yaml: .*expected (valid )?YAML"):
        documents(TEXTS[name].decode(), "a.yaml")


ACCEPTED = {
    "empty": ("", []),
    "documents": ("a: 1\n---\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}]),
    "JSON": ('{"a": [1, 2.5, null, true]}', [{"a": [1, 2.5, None, True]}]),
    "aliases": (
        "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n",
        [{"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}],
    ),
    "long text of digits": (f"a: '{'1' * 5_000}'", [{"a": "1" * 5_000}]),
    "long text": (f"a: {'word ' * 5_000}end", [{"a": "word " * 5_000 + "end"}]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_yaml_is_read(name: str) -> None:
    text, values = ACCEPTED[name]
    assert documents(text, "a.yaml") == values


def test_levels_up_to_the_bound_are_read() -> None:
    assert document("[" * DEPTH_MAX + "]" * DEPTH_MAX, "a.yaml")
    with pytest.raises(FileError, match=f"more than {DEPTH_MAX} levels"):
        document("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), "a.yaml")


def test_aliases_up_to_the_bound_are_read() -> None:
    half = f"a: &a [{'x, ' * (ALIASED_NODES_MAX // 2)}]\nb: *a\n"
    assert document(half, "a.yaml")
    with pytest.raises(FileError, match="aliases that expand to more than"):
        document(f"{half}c: *a\n", "a.yaml")
