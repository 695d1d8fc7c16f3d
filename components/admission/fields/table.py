"""The rows of `fields.toml`: what a tenant can do with each field of a queued Ray object."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from components.admission.fields.schema import FieldAddress

FILE = Path(__file__).with_name("fields.toml")
Effect = Literal["counted", "frozen", "refused", "bounded", "harmless"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
# Tries every field on a real API server, by its row.
TRIES = "tests/stacks/test_ray_fields.py"
TESTS: Mapping[Effect, str] = {
    "counted": f"{TRIES}::test_frozen_fields_cannot_be_changed",
    "frozen": f"{TRIES}::test_frozen_fields_cannot_be_changed",
    "refused": f"{TRIES}::test_refused_fields_cannot_be_set",
    "bounded": f"{TRIES}::test_bounds_hold",
    "harmless": f"{TRIES}::test_harmless_fields_can_be_changed",
}
_KEYS = {"values", "within", "beyond", "test", "since", "type"}


@dataclass(frozen=True, eq=False)
class Row:
    """The effect on the fields at and below `path` of `owner`, a kind or a definition of the schema.

    `values`: of the field at `path`, for tests; empty if any value of its type has this effect. `within` and
    `beyond`: values inside and outside the bounds. `tests`: as `path::test`. `since` and `type`: of a field
    that the pinned KubeRay lacks, the first version with it, and its OpenAPI type.
    """

    owner: str
    path: str
    effect: Effect
    why: str
    values: tuple[Any, ...] = ()
    within: tuple[Any, ...] = ()
    beyond: tuple[Any, ...] = ()
    tests: tuple[str, ...] = ()
    since: str = ""
    type: str = ""

    def __str__(self) -> str:
        return f"{self.owner}.{self.path}"

    def covers(self, path: str) -> bool:
        """Returns whether the row applies to a field: it is the row's own, or is below it."""
        suffix = path.removeprefix(self.path)
        return path.startswith(self.path) and (not suffix or suffix[0] in ".[{")


class TableError(Exception):
    """A row of `fields.toml` is not valid; the message names it."""


def table() -> tuple[Row, ...]:
    """Returns the rows in the order of the file. Raises TableError."""
    return rows(tomllib.loads(FILE.read_text()))


def rows(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> tuple[Row, ...]:
    """Returns the rows of parsed tables. Raises TableError."""
    return tuple(_row(owner, path, keys) for owner, mine in tables.items() for path, keys in mine.items())


def _row(owner: str, path: str, keys: Mapping[str, Any]) -> Row:
    effects = [effect for effect in EFFECTS if effect in keys]
    if len(effects) != 1 or set(keys) - set(EFFECTS) - _KEYS:
        raise TableError(f"{owner}.{path}: expected one of {', '.join(EFFECTS)} with its reason")
    effect = effects[0]
    shown = {"counted": "test" in keys, "bounded": "test" in keys or bool(keys.get("beyond"))}
    if not shown.get(effect, "test" not in keys) or (effect != "bounded" and "beyond" in keys):
        raise TableError(
            f"{owner}.{path}: a counted field needs a test; a bounded field needs a test or values beyond"
        )
    if ("since" in keys) != ("type" in keys) or (keys.get("type") == "object" and not keys.get("values")):
        raise TableError(f"{owner}.{path}: a row with `since` needs a type, and values if that is object")
    lists = {key: tuple(keys.get(key, ())) for key in ("values", "within", "beyond")}
    # The bound of a field without values beyond it is shown by its own test alone.
    shared = () if effect == "bounded" and "beyond" not in keys else (TESTS[effect],)
    tests = (*((str(keys["test"]),) if "test" in keys else ()), *shared)
    since, of_type = (str(keys.get(key, "")) for key in ("since", "type"))
    why = str(keys[effect])
    return Row(owner, path, effect, why, tests=tests, since=since, type=of_type, **lists)


def row_of(address: FieldAddress, table: Iterable[Row]) -> Row | None:
    """Returns the row that names most of a field's path; of equal rows, that of the outer object."""
    outer = {owner: index for index, (owner, _) in enumerate(address.within)}
    paths = dict(address.within)
    matching = [row for row in table if row.owner in paths and row.covers(paths[row.owner])]
    return min(
        matching, key=lambda row: (len(paths[row.owner]) - len(row.path), outer[row.owner]), default=None
    )
