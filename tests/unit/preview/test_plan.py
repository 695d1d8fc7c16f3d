"""Changes, read from the engine's event log."""

from typing import Any

import pytest

from preview.plan import ChangedProperty, ResourceChange, read_changes

STACK = "urn:pulumi:dev::muster::"
POOL = f"{STACK}gcp:container/nodePool:NodePool::l4"


def event(op: str, old: Any = None, new: Any = None, **metadata: Any) -> dict[str, Any]:
    sides = {"old": old and {"inputs": old}, "new": new and {"inputs": new, "parent": f"{STACK}a::b"}}
    step = {"op": op, "urn": POOL, "type": "gcp:container/nodePool:NodePool", **sides, **metadata}
    return {"resourcePreEvent": {"metadata": step}}


def forcing(*paths: str) -> dict[str, Any]:
    return {path: {"diffKind": "update-replace", "inputDiff": True} for path in paths}


def test_creation_has_only_new_inputs() -> None:
    (change,) = read_changes([event("create", new={"name": "l4"})])
    assert (change.op, change.name, change.parent) == ("create", "l4", f"{STACK}a::b")
    assert (change.before, change.after, change.protect) == ({}, {"name": "l4"}, False)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=["delete first", "last", "mixed"])
def test_steps_of_a_replacement_are_one_change(order: tuple[int, ...]) -> None:
    old, new = {"spot": True, "name": "l4"}, {"spot": False, "name": "l4"}
    steps = [
        event("delete-replaced", old=old),
        event("replace", old=old, new=new, detailedDiff=forcing("spot")),
        event("create-replacement", old=old, new=new, detailedDiff=forcing("spot")),
    ]
    (change,) = read_changes([steps[place] for place in order])
    assert change.op == "replace"
    assert change.differences == [ChangedProperty("spot", before=True, after=False, replaces=True)]


def test_differences_tell_which_of_them_replace() -> None:
    change = ResourceChange(
        "replace",
        "t",
        POOL,
        before={"nodeConfig": {"spot": True, "labels": {"a.b": "1"}}, "tags": ["a"]},
        after={"nodeConfig": {"labels": {"a.b": "2"}}, "tags": ["a", "b"], "count": 1},
        replacing=frozenset({"nodeConfig.spot"}),
    )
    assert sorted(change.differences, key=lambda d: d.path) == [
        ChangedProperty("count", None, 1, replaces=False),
        ChangedProperty('nodeConfig.labels["a.b"]', "1", "2", replaces=False),
        ChangedProperty("nodeConfig.spot", True, None, replaces=True),
        ChangedProperty("tags[1]", None, "b", replaces=False),
    ]


def test_secret_that_replaces_is_named_without_its_value() -> None:
    masked = {"password": "[secret]"}
    change = ResourceChange(
        "replace", "t", POOL, before=masked, after=masked, replacing=frozenset({"password"})
    )
    assert change.differences == [ChangedProperty("password", None, None, replaces=True)]


def test_plugin_may_name_the_block_of_a_changed_property() -> None:
    change = ResourceChange(
        "replace",
        "t",
        POOL,
        before={"spec": {"selector": {"a": 1}}},
        after={"spec": {"selector": {"a": 2}}},
        replacing=frozenset({"spec.selector"}),
    )
    assert change.differences == [ChangedProperty("spec.selector.a", 1, 2, replaces=True)]


def test_other_events_are_not_changes() -> None:
    assert read_changes([{"preludeEvent": {}}, {"summaryEvent": {"resourceChanges": {"create": 1}}}]) == ()
