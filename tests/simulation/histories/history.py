"""A history as a value: all actions on a cluster, fixed before it is played."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """One action. `do` names an entry of `actions.ACTIONS`; `after_s` are seconds since the previous one.

    `arguments` name the objects that it is about (`team-a/job3`), never by their place in a list, so that an
    action keeps its meaning when others are removed. An action whose object is deleted does nothing."""

    after_s: float
    do: str
    arguments: Mapping[str, Any] = {}


class History(msgspec.Struct, frozen=True, omit_defaults=True):
    """A history. `seed` decides all random behavior of the surroundings: delays, order, lost writes.

    `stack` and `faults` are names of stacks.STACKS and stacks.FAULTS; `replicas` is 1 or 2."""

    seed: int
    stack: str
    faults: str
    actions: tuple[Action, ...]
    replicas: int = 1
    broke: str = ""  # of a kept failure: the rule and its message


def read(path: Path) -> History:
    return msgspec.json.decode(path.read_bytes(), type=History)


def write(history: History, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(history), indent=2) + b"\n")
