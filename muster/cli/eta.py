"""`muster eta`: when a pending workload of a cluster starts."""

import json

import click

from muster.cli import live
from muster.cli.terminal import visible
from muster.cli.verb import verb
from muster.live.named import workload_named
from muster.live.report import assumption_lines, start_document, start_sentence
from muster.live.start import estimated_start
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, rfc3339
from muster.objects.workload_status import FINISHED, PODS_READY, QUOTA_RESERVED, is_finished

NEVER = 5
"""The exit code if it starts in no future."""


@verb(
    "Simulates a cluster from its current state, in several futures, and prints when a pending workload "
    "starts: the start that one in ten, half, and nine in ten futures reach, and what was assumed. Exit "
    f"codes: 0 it starts or has started; {NEVER} it starts in no future; 2 the input is wrong."
)
@click.argument("job", metavar="KIND/NAME", help="such as rayjob/train, or workload/rayjob-train-1a2b3")
@live.estimate_options
def command(job: str, given: live.EstimateOptions) -> int:
    cluster = live.read_cluster(given)
    workload = workload_named(job, given.namespace, cluster.objects)
    state = cluster.state(cluster.objects)
    past = _past(workload)
    if past or workload.key not in state.workloads:
        message = past or f"It can not be admitted as it is. Reason: {_why_not(workload)}."
        document = {"workload": workload.key, "message": message, "start": None}
        print(
            json.dumps(document, indent=2) if given.json else visible(f"Workload {workload.key}: {message}")
        )
        return 0 if past else NEVER
    start = estimated_start(state, workload.key, cluster.assumptions, cluster.seeds)
    if given.json:
        print(json.dumps({"workload": workload.key, "start": start_document(start)}, indent=2))
    else:
        print(f"Workload {workload.key}. {start_sentence(start)}\n")
        live.print_assumptions(assumption_lines(state, start, cluster.assumptions), cluster.unread)
    return 0 if start.started else NEVER


def _past(workload: Workload) -> str:
    """Returns since when it runs or is over; empty if its start is still to come."""
    conditions = workload.status.conditions
    for kind, words in ((FINISHED, "It is over since"), (PODS_READY, "It runs since")):
        found = find_condition(conditions, kind)
        if found is not None and found.status == "True":
            return f"{words} {found.last_transition_time or rfc3339(0)}."
    return ""


def _why_not(workload: Workload) -> str:
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    if not workload.spec.active:
        return "it is deactivated"
    if is_finished(workload.status):
        return "it is over"
    return reserved.message if reserved is not None else "its queue does not exist"
