"""Tables of a forecast next to what an engine did."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.forecast.assumptions import Assumptions
from tests.fidelity.agreement import Agreement, compare, deviation, waits
from tests.fidelity.history import History
from tools.toolchain.console import console, table

ALL = "all queues"


@dataclass(frozen=True)
class Pair:
    """A forecast and an engine's history of one case. `target` is the most that a mean wait may deviate."""

    case: str
    forecast: History
    measured: History
    target: float

    @property
    def agreement(self) -> Agreement:
        return compare(self.forecast, self.measured)

    def missed(self) -> list[str]:
        """Returns the classes whose mean wait deviates by more than the target."""
        return [
            f"{self.case}, {name}: mean wait {deviates:+.1%} of {self.measured.engine}'s"
            for name, deviates in self.agreement.deviations.items()
            if abs(deviates) > self.target
        ]


def show(pairs: Sequence[Pair]) -> None:
    """Prints the waits and the order of one engine's cases."""
    engine = pairs[0].measured.engine
    limit = f"±{pairs[0].target:.1%}"
    heads = ("case", "queue", "class", "jobs", "mean", engine, "deviation", "p90", engine)
    rows = [row for pair in pairs for row in wait_rows(pair)]
    console().print(
        table(f"Waits in seconds: forecast and {engine} (target of a mean: {limit})", heads, rows)
    )
    heads = (
        "case",
        "same place",
        "tau",
        "first differs",
        "held alike",
        "preempted",
        engine,
        "makespan",
        engine,
    )
    order = [order_row(pair) for pair in pairs]
    console().print(table(f"Admissions: forecast and {engine}", heads, order))


def wait_rows(pair: Pair) -> list[tuple[str, ...]]:
    """Returns a row for each class, first over all queues, then by queue if there are several."""
    expected = waits(pair.measured)
    several = len({queue for queue, _ in expected if queue}) > 1
    rows: list[tuple[str, ...]] = []
    for (queue, name), ours in waits(pair.forecast).items():
        if queue and not several:
            continue
        theirs = expected[queue, name]
        deviates = deviation(ours.mean_s, theirs.mean_s)
        over = " !" if not queue and abs(deviates) > pair.target else ""
        rows.append(
            (
                pair.case,
                queue or ALL,
                name,
                str(theirs.count),
                f"{ours.mean_s:,.0f}",
                f"{theirs.mean_s:,.0f}",
                f"{deviates:+.1%}{over}",
                f"{ours.p90_s:,.0f}",
                f"{theirs.p90_s:,.0f}",
            )
        )
    return rows


def order_row(pair: Pair) -> tuple[str, ...]:
    row_values, ours, theirs = pair.agreement, pair.forecast, pair.measured
    return (
        pair.case,
        f"{row_values.equal_positions:.0%}",
        f"{row_values.tau:.3f}",
        "nowhere" if row_values.divergence is None else f"admission {row_values.divergence + 1}",
        f"{row_values.overlap:.1%}",
        str(ours.preemptions),
        str(theirs.preemptions),
        f"{ours.makespan_s:,.0f}",
        f"{theirs.makespan_s:,.0f}",
    )


def show_assumptions(assumed: Assumptions, engine: str) -> None:
    """Prints the assumptions that were measured."""
    names = ("start_up_s", "termination_s", "cleanup_s", "requeue_s", "provisioning_median_s")
    rows = [(name, f"{getattr(assumed, name):.1f} s") for name in names]
    console().print(table(f"Assumptions, measured with {engine} in a separate case", ("", "value"), rows))
