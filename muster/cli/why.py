"""`muster why`: explains why a workload waits, and which changes would admit it."""

from collections.abc import Iterator

import click

from muster.admission import quantities
from muster.cli import live, view
from muster.cli.queue import start_text
from muster.cli.verb import verb
from muster.cli.view import VerbOutput, ViewOptions, ago, size
from muster.forecast.report.tables import Table
from muster.live.named import workload_named
from muster.live.overview.overview import Overview
from muster.live.overview.rows import WorkloadRow
from muster.live.overview.why import Why, why
from muster.live.overview.worker_groups import ElasticRow
from muster.live.verdict import VerdictKind
from muster.objects.meta import rfc3339

NAMED = ("JOB", "NAMESPACE", "CLUSTER QUEUE", "PRIORITY")
EXIT_CODES = {VerdictKind.FITS: 0, VerdictKind.PREEMPTS: 0, VerdictKind.WAITS: 4, VerdictKind.NEVER: 5}


@verb(
    """Explains why a workload waits: the quota that it lacks, the changes that would admit it, the workloads
    ahead of it in its queue, the workloads that it would preempt, and the history of its admission; or, if it
    is admitted, why its pods do not run. Decides as the controller would and changes nothing. Exit codes: 0
    it holds quota, has finished, or fits now; 4 it waits; 5 it cannot be admitted in its current form; 2
    invalid input."""
)
@click.argument("job", metavar="KIND/NAME", help="such as rayjob/train, or workload/rayjob-train-1a2b3")
@view.view_options
def command(job: str, opts: ViewOptions) -> int:
    """Prints why a workload waits or its pods do not run; returns the exit code."""
    namespace = opts.own_namespace

    def shown(cluster_overview: Overview) -> VerbOutput:
        workload = workload_named(job, namespace, cluster_overview.cluster)
        pods = live.pods_for(workload, opts.queues, opts.kubeconfig, opts.context)
        explanation = why(cluster_overview, workload, pods)
        code = 0 if explanation.answer is None else EXIT_CODES[explanation.answer]
        return VerbOutput(
            explanation, list(_lines(explanation)), list(_tables(explanation, opts.is_wide)), code
        )

    return view.show(opts, shown, tenant=namespace)


def _lines(explanation: Why) -> Iterator[str]:
    row = explanation.workload
    place = f", number {row.position} in the queue" if row.position is not None else ""
    age = ago((explanation.now_ms - row.created_ms) / 1000)
    facts = (f"priority {row.priority}", size(row.requests), f"created {age} ago")
    yield f"{row.job} (Workload {row.key}): {row.phase}{place}; {', '.join(filter(None, facts))}"
    yield explanation.sentence
    yield from explanation.size
    yield from (problem.sentence for problem in explanation.pod_problems)
    if explanation.pods_unread:
        yield f"The state of its pods is unknown: {explanation.pods_unread}."
    if row.eta is not None:
        yield f"Estimated start: in {start_text(row.eta, explanation.now_ms)}"
    if explanation.requeues:
        until = (
            f", held back until {rfc3339(explanation.requeue_ms)}"
            if explanation.requeue_ms is not None
            else ""
        )
        yield f"Requeued {explanation.requeues} times{until}"
    if explanation.remedies:
        yield "It can be admitted once all of these hold:"
        yield from (f"- {remedy}" for remedy in explanation.remedies)
    yield ""


def _tables(explanation: Why, wide: bool) -> Iterator[Table]:
    if explanation.workload.elastic is not None:
        yield _worker_groups(explanation.workload.elastic)
    if explanation.lacks:
        yield _lacks(explanation)
    if explanation.ahead:
        yield _ahead(explanation)
    if explanation.preempts:
        rows = [(*_named(target.workload), target.reason) for target in explanation.preempts]
        yield Table("Would be preempted", (*NAMED, "REASON"), rows, numbers=5)
    if explanation.checks:
        states = [(c.name, c.state, str(c.retries), rfc3339(c.at_ms), c.message) for c in explanation.checks]
        yield Table("Admission checks", ("NAME", "STATE", "RETRIES", "SINCE", "MESSAGE"), states, numbers=5)
    yield _history(explanation, wide)


def _worker_groups(elastic: ElasticRow) -> Table:
    rows = [
        (
            group.name,
            *map(str, (group.minimum, group.granted, group.asked)),
            "" if group.running is None else str(group.running),
            "" if group.maximum is None else str(group.maximum),
        )
        for group in elastic.groups
    ]
    titles = ("GROUP", "MINIMUM", "GRANTED", "ASKED", "RUNNING", "MAXIMUM")
    return Table("Workers", titles, rows, numbers=1)


def _lacks(explanation: Why) -> Table:
    rows = [
        (
            shortfall.flavor,
            shortfall.resource,
            *(
                quantities.format(shortfall.resource, amount)
                for amount in (
                    shortfall.needed,
                    shortfall.available,
                    shortfall.missing,
                    shortfall.available_max,
                )
            ),
        )
        for shortfall in explanation.lacks
    ]
    titles = ("FLAVOR", "RESOURCE", "NEEDED", "AVAILABLE", "MISSING", "MAXIMUM")
    return Table("Missing quota", titles, rows, numbers=2)


def _ahead(explanation: Why) -> Table:
    more = (explanation.workload.position or 1) - 1 - len(explanation.ahead)
    title = f"Ahead in the queue{f' (and {more} more)' if more else ''}"
    rows = [(str(row.position), *_named(row), size(row.requests)) for row in explanation.ahead]
    return Table(title, ("#", *NAMED, "SIZE"), rows, numbers=6)


def _history(explanation: Why, wide: bool) -> Table:
    titles = ("SINCE", "CONDITION", "STATUS", "REASON", "MESSAGE")
    shown = len(titles) if wide else len(titles) - 1
    rows = [
        (
            rfc3339(transition.at_ms),
            transition.condition,
            transition.status,
            transition.reason,
            transition.message,
        )[:shown]
        for transition in explanation.history
    ]
    return Table("History", titles[:shown], rows, numbers=shown)


def _named(row: WorkloadRow) -> tuple[str, ...]:
    return row.job, row.namespace, row.cluster_queue, str(row.priority)
