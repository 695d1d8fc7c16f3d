"""A forecast as data for programs, which `--json` prints. Times in seconds, amounts in accelerator-hours."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from muster.forecast.limits import ExceededLimit
from muster.forecast.report.assumed import Remark, remarks_document
from muster.forecast.results.comparison import Comparison
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.recorded import recorded_waits
from muster.forecast.results.usage import Usage, usage
from muster.forecast.results.waits import JobGroup, Waits, cancelled, waits_by_group


def forecast_document(
    name: str,
    outcomes: Sequence[SimulationOutcome],
    waited_ms: Mapping[int, int],
    remarks: Sequence[Remark] = (),
) -> dict[str, Any]:
    """Returns the waits and usage of every future, and the waits recorded in the trace. `waited_ms` is by job
    number."""
    return {
        "configuration": name,
        "assumed_and_left_out": remarks_document(remarks),
        "futures": [_future(outcome) for outcome in outcomes],
        "recorded": [
            {**group_fields(waits.group), **{k: v for k, v in asdict(waits).items() if k != "group"}}
            for waits in recorded_waits(outcomes, waited_ms)
        ],
    }


def plan_document(
    base: str,
    changed: str,
    comparison: Comparison,
    limits: Sequence[ExceededLimit],
    remarks: Sequence[Remark] = (),
) -> dict[str, Any]:
    """Returns the comparison of two configurations. Waits are null on a side on which no job of the group
    starts."""
    return {
        "base": base,
        "changed": changed,
        "assumed_and_left_out": remarks_document(remarks),
        "differences": [
            {
                **group_fields(d.group),
                **{k: v for k, v in asdict(d).items() if k != "group"},
                "change_s": d.change_s,
            }
            for d in comparison.differences
        ],
        "suffering_most": [asdict(sufferer) for sufferer in comparison.sufferers],
        "waits": [
            {**group_fields(group), "statistic": statistic, "base_s": base_s, "changed_s": changed_s}
            for (group, statistic), (base_s, changed_s) in comparison.waits.items()
        ],
        "never_start": [
            {**group_fields(group), "base": before, "changed": after}
            for group, (before, after) in comparison.never.items()
        ],
        "violations": [limit.text for limit in limits if limit.by_change],
        "exceeded_before_too": [limit.text for limit in limits if not limit.by_change],
    }


def _future(outcome: SimulationOutcome) -> dict[str, Any]:
    used = usage(outcome)
    return {
        "seed": outcome.seed,
        "makespan_s": used.makespan_ms / 1000,
        "preemptions": used.preemptions,
        "failures": used.failures,
        "stock_outs": used.stock_outs,
        "deactivated": used.deactivated,
        "lost_hours": used.lost_hours,
        "cancelled_before_start": cancelled(outcome),
        "waits": [_waits(group, waits) for group, waits in waits_by_group(outcome).items()],
        "flavors": [
            {
                "flavor": name,
                **asdict(use),
                "utilisation": use.utilisation,
                "attempts": used.attempts.get(name, 0),
            }
            for name, use in used.flavors.items()
        ],
        "teams": _teams(used),
    }


def _teams(used: Usage) -> list[dict[str, Any]]:
    return [
        {"queue": queue, "flavor": flavor, "hours": hours}
        for (queue, flavor), hours in sorted(used.hours_by_team.items())
    ]


def _waits(group: JobGroup, waits: Waits) -> dict[str, Any]:
    return {**group_fields(group), **asdict(waits)}


def group_fields(group: JobGroup) -> dict[str, str]:
    """Returns the fields of a group that restrict it, for programs."""
    return {key: value for key, value in group._asdict().items() if value}
