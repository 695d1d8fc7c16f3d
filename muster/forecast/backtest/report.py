"""A backtest as a table and as JSON."""

from collections.abc import Mapping
from typing import Any

from muster.forecast.backtest.coverage import Coverage, EstimateGroup
from muster.forecast.backtest.rolling import Backtest
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration

DAY_MS = 86_400_000


def summary_sentence(test: Backtest, groups: Mapping[EstimateGroup, Coverage]) -> str:
    """Returns the coverage of all estimates as a sentence."""
    every = groups[EstimateGroup()]
    days = test.period_ms / DAY_MS
    return (
        f"{every.within:.0%} of {every.estimates:,} starts are between the 10th and 90th percentile, bias of "
        f"the median {every.bias:+.1%} of the mean wait; {len(test.run.jobs):,} jobs, periods of {days:.3g} "
        "days"
    )


def coverage_table(groups: Mapping[EstimateGroup, Coverage]) -> Table:
    """Returns the coverage by group."""
    columns = (
        "QUEUE",
        "CLASS",
        "SIZE",
        "AGE",
        "ESTIMATES",
        "WITHIN",
        "BEFORE",
        "AFTER",
        "BIAS",
        "LATER",
        "WAIT",
    )
    rows = [
        (
            group.queue or ("all queues" if not group.age else ""),
            group.priority_class,
            group.size,
            group.age,
            f"{coverage.estimates:,}",
            f"{coverage.within:.0%}",
            f"{coverage.before:,}",
            f"{coverage.after:,}",
            f"{coverage.bias:+.0%}",
            f"{coverage.later:.0%}",
            duration(coverage.wait_s),
        )
        for group, coverage in groups.items()
    ]
    return Table("Starts and their estimates", columns, rows, numbers=4)


def coverage_document(name: str, test: Backtest, groups: Mapping[EstimateGroup, Coverage]) -> dict[str, Any]:
    """Returns the coverage for programs."""
    return {
        "configuration": name,
        "jobs": len(test.run.jobs),
        "periodDays": test.period_ms / DAY_MS,
        "futures": len(test.seeds),
        "groups": [
            {
                "queue": group.queue or None,
                "priorityClass": group.priority_class or None,
                "size": group.size or None,
                "age": group.age or None,
                "estimates": coverage.estimates,
                "within": coverage.within,
                "before": coverage.before,
                "after": coverage.after,
                "later": coverage.later,
                "biasSeconds": coverage.bias_s,
                "bias": coverage.bias,
                "meanWaitSeconds": coverage.wait_s,
            }
            for group, coverage in groups.items()
        ],
    }
