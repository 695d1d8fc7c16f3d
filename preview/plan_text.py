"""Formats a plan for the terminal, for pull requests, and as the summary that the tests keep."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from preview.plan import STACK, ChangedProperty, ResourceChange
from preview.plan_properties import described, plain, short_kind
from preview.pulumi_cli import Outcome

SIGNS: Mapping[str, str] = {"create": "+", "update": "~", "replace": "±", "delete": "-", "same": " "}
_WORDS: Mapping[str, str] = {
    "replace": "to replace",
    "delete": "to delete",
    "update": "to update",
    "create": "to create",
    "same": "unchanged",
}
_INDENT = "  "
PROVIDERS = "pulumi:providers:"
# Green, red and orange are +, - and !.
_DIFF: Mapping[str, str] = {"~": "!", "±": "-/+"}


@dataclass(frozen=True)
class TreeRow:
    """One line of the tree: the sign of the op, the resource, indented below its parents, and details."""

    sign: str
    resource: str
    details: str


def counts(changes: Iterable[ResourceChange]) -> str:
    """Formats counts as `1 to replace, 2 to update, 140 unchanged`, the most important first."""
    by_op = Counter(change.op for change in changes if change.type != STACK)
    worded = [f"{by_op[op]} {words}" for op, words in _WORDS.items() if by_op[op]]
    others = [f"{number} to {op}" for op, number in sorted(by_op.items()) if op not in _WORDS]
    return ", ".join(worded + others) or "nothing declared"


def tree(changes: Sequence[ResourceChange]) -> list[TreeRow]:
    """Returns changed resources below their components, in an order that does not depend on timing."""
    children: dict[str, list[ResourceChange]] = {}
    urns = {change.urn for change in changes if change.type != STACK}
    for change in changes:
        if change.urn in urns:
            children.setdefault(change.parent if change.parent in urns else "", []).append(change)

    def rows(parent: str, depth: int) -> Iterator[TreeRow]:
        for change in sorted(children.get(parent, ()), key=lambda c: (short_kind(c.type), c.name)):
            below = list(rows(change.urn, depth + 1))
            if below or change.op != "same":
                yield TreeRow(
                    SIGNS.get(change.op, change.op), _INDENT * depth + title(change), _details(change)
                )
                yield from below

    return list(rows("", 0))


def title(change: ResourceChange) -> str:
    """Returns the kind and the name of the changed resource."""
    return f"{short_kind(change.type)} {change.name}"


def _details(change: ResourceChange) -> str:
    if change.op in ("update", "replace"):
        words = "; ".join(map(_difference, change.differences))
    else:
        words = described(change.type, change.after or change.before) if change.op != "same" else ""
        words = " ".join(filter(None, [words, "protected" if change.protect else ""]))
    return " ".join(filter(None, [words, f"({change.note})" if change.note else ""]))


def _difference(difference: ChangedProperty) -> str:
    sides = "changed"
    if (difference.before, difference.after) != (None, None):
        before, after = (
            "(none)" if value is None else plain(value) for value in (difference.before, difference.after)
        )
        sides = f"{before} → {after}"
    return f"{difference.path}: {sides}" + (" (replaces)" if difference.replaces else "")


def summary(changes: Sequence[ResourceChange]) -> str:
    """Formats the plan for diffs: without alignment, so that one change affects one line."""
    lines = [f"{row.sign} {row.resource}  {row.details}".rstrip() for row in tree(changes)]
    return "\n".join([counts(changes), *lines]) + "\n"


def table(changes: Sequence[ResourceChange]) -> list[tuple[str, str]]:
    """Returns the sign and the line of each row, with aligned columns."""
    rows = tree(changes)
    width = max((len(row.resource) for row in rows), default=0)
    return [(row.sign, f"{row.sign} {row.resource:{width}}  {row.details}".rstrip()) for row in rows]


def dangers(changes: Sequence[ResourceChange]) -> list[str]:
    """Returns a line per recreated or deleted resource (not component), with the properties that force it."""
    dangerous = [
        change
        for change in changes
        if change.op in ("replace", "delete") and change.custom and not change.type.startswith(PROVIDERS)
    ]
    return [_danger(change) for change in sorted(dangerous, key=lambda c: (c.op != "replace", title(c)))]


def _danger(change: ResourceChange) -> str:
    forcing = [_difference(difference) for difference in change.differences if difference.replaces]
    why = "; ".join(forcing) or ("with what it depends on" if change.op == "replace" else "")
    mark = "protected: the engine refuses" if change.protect else ""
    return f"{SIGNS[change.op]} {title(change)}  {'; '.join(filter(None, [why, mark]))}".rstrip()


def policies(outcome: Outcome) -> str:
    """Formats the result of the policies; empty if none were checked."""
    if outcome.passed is None:
        return ""
    failed = f", {len(outcome.violations)} failed" if outcome.violations else ""
    return f"{outcome.passed} policies passed{failed}"


def markdown(heading: str, outcome: Outcome) -> str:
    """Formats a pull request comment: counts, violated policies and dangerous changes, the plan folded."""
    changes = outcome.changes
    parts = [f"### {heading}", ", ".join(filter(None, [counts(changes), policies(outcome)]))]
    if outcome.violations:
        lines = [line for violation in outcome.violations for line in violation.splitlines()]
        parts.append("**Violated policies**\n" + _fenced(lines, "text"))
    if outcome.warnings:
        parts.append("\n".join(f"- :warning: {' '.join(warning.split())}" for warning in outcome.warnings))
    if lines := dangers(changes):
        parts.append("**Recreated or deleted**\n" + _fenced([_colored(line) for line in lines], "diff"))
    if lines := [_colored(line) for _, line in table(changes)]:
        parts.append(f"<details><summary>The plan</summary>\n\n{_fenced(lines, 'diff')}\n\n</details>")
    if outcome.plugins:
        parts.append(f"Plugins: {outcome.plugins}")
    return "\n\n".join(parts) + "\n"


def _colored(line: str) -> str:
    """Returns the line with a first character that GitHub colors in a `diff` block."""
    return _DIFF.get(line[0], line[0]) + line[1:]


def _fenced(lines: Sequence[str], language: str) -> str:
    """Formats a block of code, whose fence is longer than any in the lines, so that no line ends it."""
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])
