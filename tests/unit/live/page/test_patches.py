"""Patches: only what has changed in a table is sent."""

import pytest

from muster.live.page.tables import Patch, Tables, difference

OLD: Tables = {"queues": {"a": {"used": 1}, "b": {"used": 2}}}
CASES: dict[str, tuple[Tables, Patch]] = {
    "nothing": ({"queues": {"a": {"used": 1}, "b": {"used": 2}}}, Patch()),
    "a row that changed": (
        {"queues": {"a": {"used": 3}, "b": {"used": 2}}},
        Patch({"queues": {"a": {"used": 3}}}),
    ),
    "a row that is new": (
        {"queues": {"a": {"used": 1}, "b": {"used": 2}, "c": {}}},
        Patch({"queues": {"c": {}}}),
    ),
    "a row that was deleted": ({"queues": {"a": {"used": 1}}}, Patch({}, {"queues": ["b"]})),
    "a table that is new": ({**OLD, "gangs": {"g": {}}}, Patch({"gangs": {"g": {}}})),
    "a table that is empty now": ({"queues": {}}, Patch({}, {"queues": ["a", "b"]})),
}


@pytest.mark.parametrize("name", CASES)
def test_patch_has_only_what_changed(name: str) -> None:
    after, patch = CASES[name]

    assert difference(OLD, after) == patch
    assert bool(patch) is (name != "nothing")


def applied(patch: Patch, tables: Tables) -> Tables:
    rows = {name: {**tables.get(name, {}), **patch.rows.get(name, {})} for name in {*tables, *patch.rows}}
    return {
        name: {k: row for k, row in of.items() if k not in patch.removed.get(name, ())}
        for name, of in rows.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_patch_turns_the_old_tables_into_the_new_ones(name: str) -> None:
    after, _ = CASES[name]

    assert applied(difference(OLD, after), OLD) == after
