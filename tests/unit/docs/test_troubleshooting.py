"""docs/troubleshooting.md has every reason that the controller sets and no other, each with a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.admission import PreemptionReason

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "troubleshooting.md"
ROW = re.compile(r"^\| `([\w…]+)` \| .+ \| `(tests/[\w./]+)` \|$", re.MULTILINE)
WORD = re.compile(r"[A-Z][a-z]+(?:[A-Z][A-Za-z]*)*")
# Where reasons are set, and from where else their words may come.
SETTING = ("cluster", "controller", "admission/lifecycle")

# Reasons of which the code only has parts.
COMPOSED = {
    "DeactivatedDueTo…": ("Deactivated", "DueTo"),
    "EvictedDueTo…": ("EvictedDueTo",),
    "ClusterQueueRestarted": ("ClusterQueue", "Restarted"),
    "JobRestarted": ("Job", "Restarted"),
    "LocalQueueRestarted": ("LocalQueue", "Restarted"),
}
OTHER_WORDS = {
    "conditions and their values, phases, states of jobs and of admission checks": "BackOff BudgetUsed "
    "Complete Completed "
    "Available DeactivationTarget Evicted False Finished InitializingTimeout RayClusterSuspended "
    "ReplicaFailure Retrying Running True",
    "values of fields": "Background ClusterIP DeleteNone In IdenticalPodTemplates Indexed InteractiveMode "
    "IdenticalWorkloadSchedulingRequirements Never NewCluster None Normal OnFailure Orphan Recreate "
    "RestartJobSetAndIgnoreMaxRestarts SidecarMode Warning",
    "kinds, operators, types of the code, prefixes": "CronJob JobSet Json KubeRay LeaderWorkerSet Merge "
    "Metrics PriorityClass RayCronJob StatefulSet Ts "
    "WatchAges WorkloadPriorityClass",
}
"""Such words of the code that are no reasons."""
OTHERS = set(" ".join(OTHER_WORDS.values()).split())


def words(folder: Path) -> set[str]:
    """Every string of the code that could be a reason: capitalized words without spaces."""
    files = sorted(folder.rglob("*.py"))
    assert files, f"{folder} holds no code: are reasons set elsewhere now?"
    return {word for file in files for word in _words(ast.parse(file.read_text()))}


def _words(tree: ast.AST) -> Iterator[str]:
    if isinstance(tree, ast.Assign) and "__all__" in [t.id for t in tree.targets if isinstance(t, ast.Name)]:
        return
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORD.fullmatch(node.value):
                yield node.value
            elif isinstance(node, ast.AST):
                yield from _words(node)


def rows() -> list[tuple[str, str]]:
    """Reason and test of every row of the page."""
    return ROW.findall(PAGE.read_text())


def set_by_the_controller() -> set[str]:
    reasons_in_code = set().union(*(words(ROOT / "muster" / folder) for folder in SETTING))
    return {str(reason) for reason in PreemptionReason} | reasons_in_code


def test_every_reason_of_the_code_has_a_row() -> None:
    parts = {part for of_one in COMPOSED.values() for part in of_one}
    documented_reasons = {reason for reason, _ in rows()} | parts
    assert set_by_the_controller() - documented_reasons - OTHERS == set(), (
        "a row, or a word of OTHERS, is missing"
    )


def test_every_row_is_of_a_reason_that_the_code_sets() -> None:
    defaults = set_by_the_controller() | words(ROOT / "muster")
    documented_reasons = {part for reason, _ in rows() for part in COMPOSED.get(reason, (reason,))}
    assert documented_reasons - defaults == set()


def test_no_word_is_called_other_for_nothing() -> None:
    assert OTHERS - set_by_the_controller() == set()
    assert {reason for reason, _ in rows()} & OTHERS == set()


def test_every_row_names_a_test_that_has_its_reason() -> None:
    missing = [(reason, test) for reason, test in rows() if not _has(ROOT / test, reason)]
    assert missing == []


def test_every_line_of_the_tables_is_a_row() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(lines) == len(rows())


def _has(test: Path, reason: str) -> bool:
    by_name = {str(r): f"PreemptionReason.{r.name}" for r in PreemptionReason}
    spellings = [rf"\b{reason.rstrip('…')}", re.escape(by_name.get(reason, reason))]
    return test.is_file() and any(re.search(spelling, test.read_text()) for spelling in spellings)
