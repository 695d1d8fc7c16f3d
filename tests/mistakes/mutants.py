"""Mutants of the shipped stack files: each has one mistake, drawn from a seed."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from settings.keys import ours
from tests.mistakes.values import boundary, misspelt, of_another_type
from tools.toolchain.paths import CHECKOUT

_FILES = (CHECKOUT / "stacks").glob("Pulumi.*.yaml")
STACKS = tuple(sorted(path.stem.removeprefix("Pulumi.") for path in _FILES))
Place = tuple[str | int, ...]
KEY_TYPO = "a key misspelt"


@dataclass(frozen=True)
class Mutant:
    """A stack file with a mistake. `text` is the file; `place` is where the mistake is in its config."""

    stack: str
    mistake: str
    place: Place
    text: str

    def __str__(self) -> str:
        return f"{self.stack}: {self.mistake} at {'.'.join(map(str, self.place))}"


def stack_file(stack: str) -> Path:
    return CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml"


@cache
def config_of(stack: str) -> Any:
    return yaml.safe_load(stack_file(stack).read_text())["config"]


def mutants(stack: str, seed: str, count: int) -> Iterator[Mutant]:
    """Yields this many mutants of a shipped stack; a seed always gives the same ones."""
    random = Random(f"{seed} {stack}")
    mutant_count = 0
    while mutant_count < count:
        mutant = _line_mutant(stack, random) if random.random() < 0.15 else _value_mutant(stack, random)
        if mutant is not None:
            mutant_count += 1
            yield mutant


def _value_mutant(stack: str, random: Random) -> Mutant | None:
    """Returns a mutant with another key or value, None if that is the same as before."""
    config = deepcopy(config_of(stack))
    place = random.choice([place for place in places(config) if place])
    *above, last = place
    inside: Any = config
    for part in above:
        inside = inside[part]
    mistake = random.choice(MISTAKES)
    change = mistake(inside, last, random)
    if change is None or (config == config_of(stack) and json.dumps(config) == json.dumps(config_of(stack))):
        return None
    # JSON is YAML, and is written faster.
    return Mutant(stack, change, place, json.dumps({"config": config}, ensure_ascii=False))


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yields the place of every value of our settings."""
    yield above
    if isinstance(value, dict):
        for key, inner in value.items():
            if above or ours(key):
                yield from places(inner, (*above, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*above, index))


def _misspell_key(inside: Any, last: Any, random: Random) -> str | None:
    if not isinstance(inside, dict):
        return None
    other = misspelt(last, random)
    if other in inside:
        return None
    renamed = {other if key == last else key: value for key, value in inside.items()}
    inside.clear()
    inside.update(renamed)
    return f"{KEY_TYPO} ({other!r})"


def _misspell_value(inside: Any, last: Any, random: Random) -> str | None:
    if not isinstance(inside[last], str):
        return None
    inside[last] = misspelt(inside[last], random)
    return f"a value misspelt ({inside[last]!r})"


def _delete(inside: Any, last: Any, random: Random) -> str | None:
    del inside[last]
    return "a deletion"


def _swap(inside: Any, last: Any, random: Random) -> str | None:
    others = [key for key in (inside if isinstance(inside, dict) else range(len(inside))) if key != last]
    if not others:
        return None
    other = random.choice(others)
    inside[last], inside[other] = inside[other], inside[last]
    return f"swapped with {other!r}"


def _bound(inside: Any, last: Any, random: Random) -> str | None:
    inside[last] = boundary(inside[last], random)
    return f"a boundary value ({inside[last]!r})"


def _retype(inside: Any, last: Any, random: Random) -> str | None:
    inside[last] = of_another_type(inside[last], random)
    return f"a value of another type ({inside[last]!r:.40})"


def _repeat(inside: Any, last: Any, random: Random) -> str | None:
    if not isinstance(inside, list):
        return None
    inside.append(deepcopy(inside[last]))
    return "an entry repeated"


def _transplant(inside: Any, last: Any, random: Random) -> str | None:
    """Takes the value that the key has elsewhere, in this or another stack."""
    transplants = []
    for stack in STACKS:
        for place in places(config_of(stack)):
            if place and place[-1] == last:
                value = config_of(stack)
                for part in place:
                    value = value[part]
                transplants.append(value)
    inside[last] = deepcopy(random.choice(transplants))
    return f"the value of another place ({inside[last]!r:.60})"


# Typos are the most frequent mistakes.
MISTAKES = (
    *(_misspell_key, _misspell_key, _misspell_value, _misspell_value),
    *(_delete, _swap, _bound, _bound, _retype, _repeat, _transplant),
)


def _line_mutant(stack: str, random: Random) -> Mutant | None:
    """Returns a mutant with another line: dropped, repeated, indented, moved, or without a character."""
    lines = stack_file(stack).read_text().splitlines(keepends=True)
    number = random.choice([n for n, line in enumerate(lines) if line.split("#")[0].strip()])
    line, before, after = lines[number], lines[:number], lines[number + 1 :]
    place = random.randrange(len(line))
    what, changed = random.choice(
        (
            ("dropped", []),
            ("repeated", [line, line]),
            ("indented", [f"  {line}"]),
            ("indented less", [line.removeprefix("  ")]),
            ("indented by a tab", [f"\t{line}"]),
            ("moved down", [*after[:1], line]),
            ("without a character", [line[:place] + line[place + 1 :]]),
            ("without a blank", [line.replace(": ", ":", 1)]),
        )
    )
    text = "".join([*before, *changed, *(after[1:] if what == "moved down" else after)])
    if _same_yaml(text, stack):
        return None
    return Mutant(stack, f"a line {what}", (number + 1,), text)


def _same_yaml(text: str, stack: str) -> bool:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return isinstance(content, dict) and json.dumps(content.get("config"), default=str) == json.dumps(
        config_of(stack)
    )
