"""Rules of all values, in any part of a stack file."""

import json
import re
from collections import Counter
from collections.abc import Iterator

from settings.credentials import is_credential
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

SECRET_KEY = re.compile(
    r"(^|[-_./])(token|secret|password|passwd|(api|access|private)[-_]?key|credentials?)$", re.IGNORECASE
)
# 32 or more letters and digits, mixed: a random key or a hash.
RANDOM = re.compile(r"(?=(?:[^0-9]*[0-9]){6})(?=(?:[^a-zA-Z]*[a-zA-Z]){6})[A-Za-z0-9_]{32,}")
LABELS = ("labels", "namespaces")
NAMES = {"name", "namespace"}


def values(settings: Settings) -> Iterator[tuple[Path, object]]:
    """Yields every value that the stack file gives, lists and mappings included, each with its path."""
    yield from _inside((), settings.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _inside(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _inside((*path, key), inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _inside((*path, place), inner)


@rule()
def lists_have_each_value_once(settings: Settings) -> Iterator[Finding]:
    """Lists have each value once: a second one is a mistake for another value, has no effect, or would
    declare a resource twice. Entries that are identified by their name have
    rules of their own."""
    for path, value in values(settings):
        if not isinstance(value, list):
            continue
        if any(isinstance(entry, dict) and NAMES & entry.keys() and "kind" not in entry for entry in value):
            continue
        entries = [json.dumps(entry, sort_keys=True) for entry in value]
        for entry, times in Counter(entries).items():
            if times > 1:
                last = len(entries) - 1 - entries[::-1].index(entry)
                yield Finding((*path, last), "each value once", "remove all but the intended one")


@rule()
def credentials_are_kept_elsewhere(settings: Settings) -> Iterator[Finding]:
    """No value is a token, key or password: stack files are in version control, and labels are visible to
    everyone that may list resources (Resource Manager, "Requirements for labels")."""
    for path, value in values(settings):
        a_key = bool(path) and is_credential(str(path[-1]))
        if a_key or (isinstance(value, str) and (is_credential(value) or _secret_label(path, value))):
            yield Finding(
                path[:-1] if a_key else path,
                "no credential: stack files are in version control, and labels are visible to all readers "
                "of the project",
                "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
            )


def _secret_label(path: Path, value: str) -> bool:
    if len(path) < 2 or path[-2] not in LABELS:
        return False
    return bool((value and SECRET_KEY.search(str(path[-1]))) or RANDOM.fullmatch(value))
