"""Looks for drift, reverts it if asked, and reports it as a table and as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from drift.check import Clusters
from drift.comparison import Drift
from drift.deployed import Deployed
from muster.files.writing import write_text
from preview import plan_text
from preview.plan_properties import short_kind
from tools.toolchain.console import console
from tools.toolchain.steps import Screen

DRIFTED = 3
"""The exit code if live objects still differ at the end."""


def report(
    deployed: Deployed, environment: Mapping[str, str], *, revert: str, fix: bool, file: Path | None = None
) -> int:
    """Prints each object that is not as deployed; with `fix` reverts it. Returns the exit code.

    revert: the command that reverts it. file: gets the same as JSON.
    """
    doing = "Reverting" if fix else "Reading the cluster"
    refused: list[str] = []
    with Clusters(deployed, environment) as clusters:
        with Screen().activity(lambda seconds: f"{doing}: {seconds:.0f} s"):
            drifts = clusters.drift()
            if fix and drifts:
                refused = clusters.fix(drifts)
        remaining = clusters.drift() if fix and drifts else drifts
    if file:
        write_text(file, json.dumps(as_json(drifts, remaining), indent=2) + "\n")
    screen = console()
    for _, line in plan_text.table([drift.change for drift in drifts]):
        screen.print(Text(line), soft_wrap=True)
    compared = f"{len(deployed.objects)} objects compared with what was deployed"
    if not drifts:
        screen.print(f"{compared}: nothing was changed by hand", highlight=False)
        return 0
    counted = plan_text.counts(drift.change for drift in drifts)
    for reason in refused:
        screen.print(Text(reason, style="bold red"), soft_wrap=True)
    outcome = f"{revert} does it" if not fix else f"{len(remaining)} left" if remaining else "done"
    summary = f"{compared}; to revert changes made by hand: {counted}; {outcome}"
    screen.print(summary, highlight=False, soft_wrap=True)
    return DRIFTED if remaining else 0


def as_json(drifts: Sequence[Drift], remaining: Sequence[Drift]) -> dict[str, Any]:
    """Returns the drift as JSON: `live` and `declared` values by property path, secrets masked."""
    urns = {drift.change.urn for drift in remaining}
    return {"drift": [{**_entry(drift), "reverted": drift.change.urn not in urns} for drift in drifts]}


def _entry(drift: Drift) -> dict[str, Any]:
    change = drift.change
    differences = change.differences if change.op in ("update", "replace") else ()
    return {
        "operation": change.op,
        "kind": short_kind(change.type),
        "name": change.name,
        "urn": change.urn if drift.declared else None,
        "note": change.note,
        "fields": [{"path": d.path, "live": d.before, "declared": d.after} for d in differences],
    }
