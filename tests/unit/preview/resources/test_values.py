"""Property values: round trips, secrets and unknown values."""

from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # ships no types
from hypothesis import given
from hypothesis import strategies as st
from pulumi.runtime import rpc

from preview.plugins.structs import from_struct, to_struct
from preview.resources.values import SECRET, SIGNATURE, UNKNOWN, Secret, concealed, is_known, opened

_LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | inner.map(Secret)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), _VALUES, max_size=4))
def test_properties_survive_a_round_trip(properties: dict[str, Any]) -> None:
    assert from_struct(to_struct(properties)) == properties


def test_whole_numbers_become_integers_that_an_api_server_accepts() -> None:
    properties = from_struct(to_struct({"replicas": 3.0, "ratio": 0.5}))
    assert {key: type(value) for key, value in properties.items()} == {"replicas": int, "ratio": float}


def test_secret_has_the_engines_wire_format() -> None:
    wire = Struct()
    wire.update({"token": {rpc._special_sig_key: rpc._special_secret_sig, "value": "x"}})
    assert to_struct({"token": Secret("x")}) == wire


@pytest.mark.parametrize(
    ("value", "documented"),
    [
        ({"a": ["x", 1]}, True),
        ({"a": [{"b": UNKNOWN}]}, False),
        ({"a": Secret({"b": UNKNOWN})}, False),
        (Secret("x"), True),
    ],
)
def test_value_with_an_unknown_part_is_unknown(value: Any, documented: bool) -> None:
    assert is_known(value) is documented


@pytest.mark.parametrize(
    ("name", "value", "like", "expected"),
    [
        ("the same path", {"a": {"b": "x"}}, {"a": {"b": Secret("y")}}, {"a": {"b": Secret("x")}}),
        ("everything below", {"a": {"b": "x"}}, {"a": Secret({})}, {"a": Secret({"b": "x"})}),
        ("an item of a list", ["x", "y"], [Secret("x")], [Secret("x"), "y"]),
        ("nothing secret", {"a": "x"}, {"a": "y", "b": Secret("z")}, {"a": "x"}),
        ("another shape", {"a": "x"}, {"a": {"b": Secret("y")}}, {"a": "x"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_value_is_secret_where_the_pattern_is(name: str, value: Any, like: Any, expected: Any) -> None:
    assert concealed(value, like) == expected


def test_opened_value_has_no_secrets() -> None:
    assert opened({"a": Secret({"b": [Secret("x")]})}) == {"a": {"b": ["x"]}}


def test_marks_of_values_are_those_of_pulumis_sdk() -> None:
    assert (rpc.UNKNOWN, rpc._special_sig_key, rpc._special_secret_sig) == (UNKNOWN, SIGNATURE, SECRET)
