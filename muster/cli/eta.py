"""`muster eta`: estimates when a pending workload of a cluster starts."""

import json

import click

from muster.cli import live
from muster.cli.terminal import visible
from muster.cli.verb import verb
from muster.cluster.jobs.scaling import stored_sizes
from muster.live.growth import minimums
from muster.live.named import workload_named
from muster.live.overview.document import document
from muster.live.report import growth_document, growth_sentence, start_document, start_sentence
from muster.live.state import ObservedState
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, rfc3339
from muster.objects.workload_status import FINISHED, PODS_READY, QUOTA_RESERVED, is_finished

NEVER = 5
"""The exit code if the workload starts in no future."""


@verb(
    "Simulates several futures of a cluster from its current state and prints when a pending workload "
    "starts, or when an autoscaled one gets more workers: the 10th, 50th and 90th percentile of that time, "
    f"and the assumptions. Exit codes: 0 it starts or has started; {NEVER} it starts in no future; 2 invalid "
    "input."
)
@click.argument("job", metavar="KIND/NAME", help="such as rayjob/train, or workload/rayjob-train-1a2b3")
@live.estimate_options
def command(job: str, opts: live.EstimateOptions) -> int:
    """Prints the estimated start of a job's Workload; returns the exit code."""
    cluster = live.read_cluster(opts)
    workload = workload_named(job, opts.namespace, cluster.objects)
    state = cluster.state(cluster.objects)
    past = _past(workload)
    if past and workload.key in state.workloads and state.workloads[workload.key].may_grow:
        _print_growth(workload.key, past, cluster, state, as_json=opts.json)
        return 0
    if past or workload.key not in state.workloads:
        message = past or f"It cannot be admitted in its current form. Reason: {_why_not(workload)}."
        refused = {"workload": workload.key, "message": message, "start": None}
        print(json.dumps(refused, indent=2) if opts.json else visible(f"Workload {workload.key}: {message}"))
        return 0 if past else NEVER
    start, growth = live.estimate(cluster, state, workload.key, {})
    groups = minimums(stored_sizes(workload))
    if opts.json:
        answer = {
            "workload": workload.key,
            "start": start_document(start),
            "growth": document(groups),
            "nextGrowth": growth_document(growth),
        }
        print(json.dumps(answer, indent=2))
    else:
        print(f"Workload {workload.key}. {start_sentence(start)}")
        print("".join(f"{visible(group.start)}.\n" for group in groups), end="")
        print("".join(f"{visible(growth_sentence(of))}\n" for of in growth))
        live.print_assumptions(cluster, state, start)
    return 0 if start.started else NEVER


def _print_growth(
    key: str, past: str, cluster: live.LiveCluster, state: ObservedState, *, as_json: bool
) -> None:
    """Prints when a workload that has started gets more workers."""
    growth = live.growth(cluster, state, key)
    if as_json:
        answer = {"workload": key, "message": past, "start": None, "nextGrowth": growth_document(growth)}
        print(json.dumps(answer, indent=2))
        return
    print(visible(f"Workload {key}: {past}"))
    print("".join(f"{visible(growth_sentence(of))}\n" for of in growth) or "It asks for no more workers.")
    if growth:
        live.print_assumptions(cluster, state, growth[0].time)


def _past(workload: Workload) -> str:
    """Returns since when the workload runs or when it finished; empty if it has not started."""
    conditions = workload.status.conditions
    for kind, words in ((FINISHED, "Finished at"), (PODS_READY, "Running since")):
        condition = find_condition(conditions, kind)
        if condition is not None and condition.status == "True":
            return f"{words} {condition.last_transition_time or rfc3339(0)}."
    return ""


def _why_not(workload: Workload) -> str:
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    if not workload.spec.active:
        return "it is deactivated"
    if is_finished(workload.status):
        return "it has finished"
    return reserved.message if reserved is not None else "its queue does not exist"
