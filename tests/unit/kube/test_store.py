"""The local store: events of watches and answers to own writes arrive in any order."""

from collections.abc import Callable

import pytest

from muster.kube import kinds
from muster.kube.store import Store, Stores
from muster.objects.core import Namespace
from muster.objects.meta import ObjectMeta

Action = Callable[[Store[Namespace]], object]


def namespace(version: int, uid: str = "a", name: str = "one") -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, uid=uid, resource_version=str(version)))


def put(version: int, uid: str = "a") -> Action:
    return lambda store: store.put(namespace(version, uid))


def remove(version: int, uid: str = "a") -> Action:
    return lambda store: store.remove(namespace(version, uid))


def relist(version: int, *namespace: Namespace) -> Action:
    return lambda store: store.replace(namespace, str(version))


def relist_known(version: int, *namespace: Namespace) -> Action:
    """Replaces the content as the reflector does: known objects are kept."""
    return lambda store: store.replace([store.stored(obj) for obj in namespace], str(version))


ORDERS: dict[str, tuple[tuple[Action, ...], tuple[str, str] | None]] = {
    "newer replaces older": ((put(1), put(2)), ("a", "2")),
    "older does not replace newer": ((put(2), put(1)), ("a", "2")),
    "versions are numbers": ((put(9), put(10)), ("a", "10")),
    "removed": ((put(1), remove(2)), None),
    "a late answer does not restore a deleted object": ((put(1), remove(3), put(2)), None),
    "the next object with the name": ((put(1), remove(2), put(3, "b")), ("b", "3")),
    "a late deletion of the previous object with the name": ((put(1), put(3, "b"), remove(2)), ("b", "3")),
    "a list replaces all": ((put(1), relist(5)), None),
    "a list does not undo later writes": ((put(1), put(7), relist(5, namespace(1))), ("a", "7")),
    "a list does not remove objects created later": ((put(7), relist(5)), ("a", "7")),
    "a late answer about an object absent from the list": ((relist(5), put(4)), None),
    "an object created after the list": ((relist(5), put(6)), ("a", "6")),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_newest_version_is_kept_in_any_order_of_arrival(name: str) -> None:
    actions, expected = ORDERS[name]
    store: Store[Namespace] = Store()
    for action in actions:
        action(store)
    stored = store.items.get("one")
    assert (stored and (stored.metadata.uid, stored.metadata.resource_version)) == expected


def test_put_returns_whether_anything_changed() -> None:
    store: Store[Namespace] = Store()
    assert [store.put(namespace(v)) for v in (1, 1, 2)] == [True, False, True]


def test_objects_of_unwatched_kinds_are_not_kept() -> None:
    stores = Stores()
    followed = stores.of(kinds.NAMESPACES)
    stores.put(kinds.NAMESPACES, namespace(1))
    assert not stores.holds(kinds.PODS, "one")
    stores.put(kinds.PODS, namespace(1))
    assert list(followed.items) == ["one"]
    assert stores.holds(kinds.NAMESPACES, "one")
    assert not stores.holds(kinds.PODS, "one"), "asking does not make it watched"
    assert not stores.of(kinds.PODS).items


CHANGES: dict[str, tuple[tuple[Action, ...], set[str]]] = {
    "nothing": ((), set()),
    "an object came": ((put(6),), {"one"}),
    "an object changed twice": ((put(6), put(9)), {"one"}),
    "an outdated object": ((put(3),), set()),
    "an object is deleted": ((remove(9),), {"one"}),
    "a late deletion": ((remove(9, "b"),), set()),
    "a list": ((relist(9, namespace(9, name="new")),), {"one", "kept", "new"}),
    "the same list again": ((relist_known(9, namespace(4), namespace(4, name="kept")),), set()),
    "the list with a new version": ((relist_known(9, namespace(8), namespace(4, name="kept")),), {"one"}),
    "the list with another object of the name": (
        (relist_known(9, namespace(4, "b"), namespace(4, name="kept")),),
        {"one"},
    ),
    "none is served": ((Store.clear,), {"one", "kept"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_keys_of_changed_objects_are_taken_once(name: str) -> None:
    actions, expected = CHANGES[name]
    store: Store[Namespace] = Store()
    store.replace([namespace(4), namespace(4, name="kept")], "4")
    assert store.take_changed() is None, "all"
    for action in actions:
        action(store)
    assert (store.take_changed(), store.take_changed()) == (expected, set())
