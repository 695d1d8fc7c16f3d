"""Problems in a stack's settings, reported so that users can fix them without reading code."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]

PLAIN_KEY = re.compile(r"[A-Za-z0-9:_/-]+")


class Nothing(Enum):
    """Marks a key that has no value in the file: it is missing, or only known after other resources."""

    NOTHING = "nothing"
    OUTPUT = "an Output"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem to fix: where it is, the given value, what is expected, and what to do."""

    file: str
    path: str
    value: object
    expected: str
    remedy: str

    @property
    def why(self) -> str:
        """The given value, what is expected and what to do, on one line."""
        return f"given {_shown(self.value)}, expected {self.expected}; {self.remedy}"

    def __str__(self) -> str:
        return (
            f"{self.path or 'the file'}\n"
            f"  given:    {_shown(self.value)}\n"
            f"  expected: {self.expected}\n"
            f"  do:       {self.remedy}"
        )


class SettingsError(ValueError):
    """Settings of a stack that cannot be used; `problems` lists everything found wrong."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines: list[str] = []
        for file in dict.fromkeys(problem.file for problem in self.problems):
            mine = [str(problem) for problem in self.problems if problem.file == file]
            count = "1 problem" if len(mine) == 1 else f"{len(mine)} problems"
            lines += [f"{file}: {count} in the settings; nothing was deployed.", *mine]
        super().__init__("\n\n".join(lines))


class Finding(NamedTuple):
    """A broken rule, by its path in the settings; `located` turns it into a Problem."""

    path: Path
    expected: str
    remedy: str


class Doubt(NamedTuple):
    """A setting that may not work because sources disagree; it is reported as a warning, not refused."""

    path: Path
    why: str
    source: str


def output_problem(path: Path, file: str) -> Problem:
    """Returns the problem of an Output: the platform's resources depend on the values of settings."""
    return Problem(
        file,
        written(path),
        Nothing.OUTPUT,
        "a plain value, which is known before any resource is created",
        "write the value, or read it from another stack with StackReference.get_output_details",
    )


def _shown(value: object) -> str:
    return value.value if isinstance(value, Nothing) else json.dumps(value, default=str)


def did_you_mean(word: str, options: Iterable[str], shown: int | None = None) -> str:
    """Returns a remedy: the option most similar to `word`, or the options if none is close; of a long list
    only the first ones, `shown` of them, as examples."""
    choices = list(options)
    close = difflib.get_close_matches(word, choices, n=1)
    if close:
        return f"did you mean {close[0]}?"
    if shown is not None and shown < len(choices):
        return f"choose one, such as {', '.join(choices[:shown])}"
    return f"choose one of {', '.join(choices)}" if choices else "none is defined yet: add it first"


def located(finding: Finding, config: Mapping[str, Any], file: str) -> Problem:
    """Returns the Problem of a finding, with its path and value as in the file."""
    path, value = _look_up(config, finding.path)
    return Problem(file, written(path), value, finding.expected, finding.remedy)


def warning(doubt: Doubt, config: Mapping[str, Any]) -> str:
    """Returns the text of a doubt, in the format of a Problem."""
    path, value = _look_up(config, doubt.path)
    return f"{written(path)}\n  given:  {_shown(value)}\n  why:    {doubt.why}\n  source: {doubt.source}"


def findings(error: ValidationError, keys_at: Mapping[Path, Iterable[str]]) -> list[Finding]:
    """Returns one finding per pydantic error; `keys_at` holds the known keys next to each unknown one."""
    errors = [(tuple(e["loc"]), e) for e in error.errors()]
    # Pydantic also reports a list with an invalid entry as too short: report the entry only.
    places = {place[:length] for place, _ in errors for length in range(len(place))}
    return [_finding(e, keys_at.get(place, ())) for place, e in errors if place not in places]


_KINDS = {
    "string_type": ("text", "put it in quotes"),
    "int_type": ("a whole number", "write it without quotes"),
    "float_type": ("a number", "write it without quotes"),
    "finite_number": ("a finite number", "write a number"),
    "bool_type": ("true or false", "write one of them, without quotes"),
    "tuple_type": ("a list", "begin each entry with `-`"),
    "dict_type": ("a mapping", "write `key: value` lines under it"),
    "model_type": ("a mapping", "write `key: value` lines under it"),
    "model_attributes_type": ("a mapping", "write `key: value` lines under it"),
}


def _finding(error: ErrorDetails, known_keys: Iterable[str]) -> Finding:
    """Returns what is expected and what to do, for the error types that the models can raise."""
    place, kind, context = tuple(error["loc"]), error["type"], error.get("ctx", {})
    key = str(place[-1])
    match kind:
        case "refused":
            return Finding(place, context["expected"], context["remedy"])
        case "missing":
            return Finding(place, "a value: this key is required", f"add `{key}`")
        case "extra_forbidden":
            names = sorted(known_keys)
            return Finding(place, f"a known key: {', '.join(names)}", did_you_mean(key, names))
        case "literal_error":
            return _choice(place, str(error["input"]), re.findall(r"'([^']*)'", context["expected"]))
        case "union_tag_invalid":
            return _choice(
                (*place, "kind"), context["tag"], re.findall(r"'([^']*)'", context["expected_tags"])
            )
        case "union_tag_not_found":
            return Finding((*place, "kind"), "a value: this key is required", "add `kind`")
        case "greater_than_equal":
            return Finding(place, f"{context['ge']} or more", "raise it")
        case "greater_than":
            return Finding(place, f"more than {context['gt']}", "raise it")
        case "less_than_equal":
            return Finding(place, f"{context['le']} or less", "lower it")
        case "string_too_short":
            return Finding(place, "a text that is not empty", "write one, or remove the key")
        case "too_short":
            return Finding(place, "at least one entry", "add one")
        case "too_long":
            return Finding(place, f"at most {context['max_length']} entries", "remove the others")
    expected, remedy = _KINDS.get(kind, (error["msg"], "fix it"))
    return Finding(place, expected, remedy)


def _choice(place: Path, value: str, options: list[str]) -> Finding:
    return Finding(place, f"one of {', '.join(options)}", did_you_mean(value, options))


def _look_up(config: Mapping[str, Any], path: Path) -> tuple[Path, object]:
    """Returns the path in the file, and the value at it.

    Pydantic adds parts that no file has: the tag of a union (skipped here) and "[key]" after a bad key.
    """
    here: Any = config
    walked: list[str | int] = []
    for place, part in enumerate(path):
        if part == "[key]":
            return tuple(walked), walked[-1]
        inside = isinstance(here, Mapping) and part in here
        if inside or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
            walked.append(part)
        elif not isinstance(here, (Mapping, list)):  # a quota in its short form has no keys in the file
            break
        elif place == len(path) - 1 and not (isinstance(here, Mapping) and here.get("kind") == part):
            return (*walked, part), Nothing.NOTHING
    return tuple(walked), here


def written(path: Path) -> str:
    """Formats a path as `muster:pools[1].gpu.type`; keys with dots or blanks are in brackets and quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not PLAIN_KEY.fullmatch(part):
            text += f'["{part}"]'
        else:
            text += f".{part}" if text else part
    return text
