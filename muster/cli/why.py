"""`muster why`: explains why a workload waits, and what would have to change."""

from collections.abc import Iterator

import click

from muster.admission import quantities
from muster.cli import view
from muster.cli.queue import start_text
from muster.cli.verb import verb
from muster.cli.view import View, ViewOptions, ago, size
from muster.forecast.report.tables import Table
from muster.live.named import workload_named
from muster.live.overview.overview import Overview
from muster.live.overview.rows import WorkloadRow
from muster.live.overview.why import Why, why
from muster.live.verdict import Answer
from muster.objects.meta import rfc3339

NAMED = ("JOB", "NAMESPACE", "CLUSTER QUEUE", "PRIORITY")
EXIT_CODES = {Answer.FITS: 0, Answer.PREEMPTS: 0, Answer.WAITS: 4, Answer.NEVER: 5}


@verb(
    """Explains why a workload waits: the quota that it lacks, what would have to change, the workloads ahead
    of it in its queue, the workloads that it would preempt, and the history of its admission. Decides as the
    controller would and changes nothing. Exit codes: 0 it holds quota, has finished, or fits now; 4 it waits;
    5 it cannot be admitted in its current form; 2 invalid input."""
)
@click.argument("job", metavar="KIND/NAME", help="such as rayjob/train, or workload/rayjob-train-1a2b3")
@view.view_options
def command(job: str, given: ViewOptions) -> int:
    namespace = given.own_namespace

    def shown(seen: Overview) -> View:
        found = why(seen, workload_named(job, namespace, seen.cluster))
        code = 0 if found.answer is None else EXIT_CODES[found.answer]
        return View(found, list(_lines(found)), list(_tables(found, given.is_wide)), code)

    return view.show(given, shown, tenant=namespace)


def _lines(found: Why) -> Iterator[str]:
    row = found.workload
    place = f", number {row.position} in the queue" if row.position is not None else ""
    age = ago((found.now_ms - row.created_ms) / 1000)
    facts = (f"priority {row.priority}", size(row.requests), f"created {age} ago")
    yield f"{row.job} (Workload {row.key}): {row.phase}{place}; {', '.join(filter(None, facts))}"
    yield found.sentence
    if row.eta is not None:
        yield f"Estimated start: in {start_text(row.eta, found.now_ms)}"
    if found.requeues:
        until = f", held back until {rfc3339(found.requeue_ms)}" if found.requeue_ms is not None else ""
        yield f"Requeued {found.requeues} times{until}"
    if found.remedies:
        yield "It can be admitted once all of these hold:"
        yield from (f"- {remedy}" for remedy in found.remedies)
    yield ""


def _tables(found: Why, wide: bool) -> Iterator[Table]:
    if found.lacks:
        yield _lacks(found)
    if found.ahead:
        yield _ahead(found)
    if found.preempts:
        rows = [(*_named(victim.workload), victim.reason) for victim in found.preempts]
        yield Table("Would be preempted", (*NAMED, "REASON"), rows, numbers=5)
    if found.checks:
        states = [(c.name, c.state, str(c.retries), rfc3339(c.at_ms), c.message) for c in found.checks]
        yield Table("Admission checks", ("NAME", "STATE", "RETRIES", "SINCE", "MESSAGE"), states, numbers=5)
    yield _history(found, wide)


def _lacks(found: Why) -> Table:
    rows = [
        (
            one.flavor,
            one.resource,
            *(
                quantities.format(one.resource, amount)
                for amount in (one.needed, one.available, one.missing, one.most)
            ),
        )
        for one in found.lacks
    ]
    titles = ("FLAVOR", "RESOURCE", "NEEDED", "AVAILABLE", "MISSING", "MAXIMUM")
    return Table("Missing quota", titles, rows, numbers=2)


def _ahead(found: Why) -> Table:
    left = (found.workload.position or 1) - 1 - len(found.ahead)
    title = f"Ahead in the queue{f' (and {left} more)' if left else ''}"
    rows = [(str(one.position), *_named(one), size(one.requests)) for one in found.ahead]
    return Table(title, ("#", *NAMED, "SIZE"), rows, numbers=6)


def _history(found: Why, wide: bool) -> Table:
    titles = ("SINCE", "CONDITION", "STATUS", "REASON", "MESSAGE")
    shown = len(titles) if wide else len(titles) - 1
    rows = [
        (rfc3339(one.at_ms), one.condition, one.status, one.reason, one.message)[:shown]
        for one in found.history
    ]
    return Table("History", titles[:shown], rows, numbers=shown)


def _named(row: WorkloadRow) -> tuple[str, ...]:
    return row.job, row.namespace, row.cluster_queue, str(row.priority)
