"""Detailed differences, and the engine's response with them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi.runtime.proto import provider_pb2

from preview.plugins.diff_responses import diff_response
from preview.resources.differences import ChangeKind, Path, differences, property_path
from preview.resources.values import UNKNOWN, Secret


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="same"),
        pytest.param({"a": 1}, {"a": 2}, {"a": ChangeKind.UPDATE}, id="changed"),
        pytest.param({}, {"a": {"b": 1}}, {"a": ChangeKind.ADD}, id="added as a whole"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, {"a.b": ChangeKind.DELETE}, id="deleted inside"),
        pytest.param(
            {"a": [1, 2]}, {"a": [1, 3, 4]}, {"a[1]": ChangeKind.UPDATE, "a[2]": ChangeKind.ADD}, id="list"
        ),
        pytest.param({"a": {"x/y": 1}}, {"a": {"x/y": 2}}, {'a["x/y"]': ChangeKind.UPDATE}, id="quoted key"),
        pytest.param({"a": Secret("x")}, {"a": "x"}, {}, id="secretness alone"),
        pytest.param({"a": Secret("x")}, {"a": Secret("y")}, {"a": ChangeKind.UPDATE}, id="secret value"),
        pytest.param({"a": "x"}, {"a": UNKNOWN}, {"a": ChangeKind.UPDATE}, id="known later"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": ChangeKind.UPDATE}, id="another shape"),
        pytest.param({"__defaults": []}, {"__defaults": ["a"]}, {}, id="the provider's own"),
    ],
)
def test_differences_are_found_at_the_leaves(old: Any, new: Any, expected: dict[str, ChangeKind]) -> None:
    assert {property_path(path): change for path, change in differences(old, new)} == expected


@given(st.dictionaries(st.text(), st.lists(st.integers()) | st.dictionaries(st.text(), st.text())))
def test_value_does_not_differ_from_itself(value: dict[str, Any]) -> None:
    assert list(differences(value, value)) == []


def test_response_names_properties_that_force_replacement() -> None:
    name: Path = ("metadata", "name")
    labels: Path = ("metadata", "labels", "a/b")
    changes = {name: ChangeKind.UPDATE, labels: ChangeKind.ADD}
    response = diff_response(changes, frozenset({name}), delete_first=True)
    kinds = {path: diff.kind for path, diff in response.detailedDiff.items()}
    assert kinds == {
        "metadata.name": provider_pb2.PropertyDiff.UPDATE_REPLACE,
        'metadata.labels["a/b"]': provider_pb2.PropertyDiff.ADD,
    }
    assert (list(response.diffs), list(response.replaces)) == (["metadata"], ["metadata.name"])
    assert response.deleteBeforeReplace
    assert response.changes == provider_pb2.DiffResponse.DIFF_SOME


def test_response_without_changes_replaces_nothing() -> None:
    response = diff_response({}, delete_first=True)
    assert response.changes == provider_pb2.DiffResponse.DIFF_NONE
    assert not response.deleteBeforeReplace
