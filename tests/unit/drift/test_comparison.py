"""Comparison of one object with what an API server answers, without one."""

from collections.abc import Callable
from typing import Any

import pytest

from drift.comparison import Drift, compare
from drift.deployed import Declared
from preview.plan import ChangedProperty
from preview.resources.values import Secret
from tools.kubernetes import ApiError

Object = dict[str, Any]
METADATA = {"name": "token", "namespace": "a"}
LIVE: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {**METADATA, "resourceVersion": "1", "uid": "u"},
}


class Server:
    """Stores `live`, and answers a dry run with `answer`."""

    def __init__(self, live: Object | None, answer: Callable[[Object], Object]) -> None:
        self.live, self.answer = live, answer
        self.asked: list[str] = []

    def get(self, target: Object) -> Object | None:
        return self.live

    def replace(self, target: Object, manager: str, *, dry_run: bool) -> Object:
        assert dry_run
        self.asked.append(target["metadata"]["resourceVersion"])
        return self.answer(target)


def compared(server: Server, **fields: Any) -> Drift | None:
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, **fields}
    return compare(server, Declared("urn::token", "kubernetes:core/v1:Secret", manifest, "pulumi", ""))  # type: ignore[arg-type]


def test_an_equal_object_has_not_drifted() -> None:
    live = {**LIVE, "data": {"a": "b"}, "metadata": {**LIVE["metadata"], "generation": 3}}
    assert compared(Server(live, lambda expected: {**expected, "data": {"a": "b"}})) is None


def test_a_secret_that_differs_is_named_without_its_value() -> None:
    live = {**LIVE, "data": {"a": "c3RvbGVu", "b": "eA=="}}
    drifts = compared(
        Server(live, lambda expected: expected), data={"a": Secret("b3BlbnNlc2FtZQ=="), "b": "eA=="}
    )
    assert drifts is not None
    difference = ChangedProperty("data.a", "[another secret]", "[secret]", replaces=False)
    assert drifts.change.differences == [difference]
    assert "c3RvbGVu" not in str(drifts.change)
    assert "b3BlbnNlc2FtZQ" not in str(drifts.change)


@pytest.mark.parametrize(
    ("live", "note"),
    [
        pytest.param(None, "", id="missing"),
        pytest.param(
            {**LIVE, "metadata": {**LIVE["metadata"], "deletionTimestamp": "now"}},
            "it is being deleted",
            id="being deleted",
        ),
    ],
)
def test_an_object_that_goes_is_to_be_created(live: Object | None, note: str) -> None:
    drifts = compared(Server(live, lambda expected: expected))
    assert drifts is not None
    assert (drifts.change.op, drifts.change.note) == ("create", note)


def test_a_write_meanwhile_repeats_the_comparison() -> None:
    def answer(expected: Object) -> Object:
        if server.asked == ["1"]:
            server.live = {**LIVE, "metadata": {**LIVE["metadata"], "resourceVersion": "2"}}
            raise ApiError(409, "Conflict", "the object has been modified")
        return expected

    server = Server(LIVE, answer)
    assert compared(server) is None
    assert server.asked == ["1", "2"]


def test_an_object_that_cannot_be_reverted_in_place_is_replaced() -> None:
    def refuse(expected: Object) -> Object:
        raise ApiError(422, "Invalid", "type: field is immutable")

    drifts = compared(Server({**LIVE, "type": "theirs"}, refuse), type="ours")
    assert drifts is not None
    assert (drifts.change.op, drifts.change.note) == ("replace", "the API server: type: field is immutable")
    assert [(d.path, d.before, d.after) for d in drifts.change.differences] == [("type", "theirs", "ours")]
