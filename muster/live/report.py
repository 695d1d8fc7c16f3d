"""Answers about live clusters as sentences, tables and JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster import admission as core
from muster.admission import quantities
from muster.forecast.assumptions import Assumptions
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.live.start import HORIZON_MS, StartEstimate
from muster.live.state import LiveState
from muster.live.verdict import Answer, Verdict
from muster.objects.meta import rfc3339

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}


def answer_sentence(subject: str, queue: str, found: Verdict) -> str:
    """Returns the answer of `muster try`."""
    match found.answer:
        case Answer.FITS:
            return f"{subject} fits now: it would get quota in ClusterQueue {queue} at once."
        case Answer.PREEMPTS:
            count = len(found.preemptions)
            victims = f"{count} workloads" if count > 1 else "one workload"
            return f"{subject} fits now: it would preempt {victims}, and get quota in ClusterQueue {queue}."
        case Answer.WAITS:
            return f"{subject} would wait in ClusterQueue {queue}. Reason: {found.message}."
        case Answer.NEVER:
            return f"{subject} can not be admitted as it is. Reason: {found.message}."


def start_sentence(found: StartEstimate) -> str:
    """Returns when the gang runs, how far the futures differ, and how many agree."""
    futures, days = len(found.starts_ms), HORIZON_MS // 86_400_000
    median_ms = found.quantile_ms(0.5)
    if median_ms is None:
        return f"Start: not within {days} days in {futures - found.started} of {futures} futures."
    low, high = _after(found, 0.1), _after(found, 0.9)
    return (
        f"Start: in {_after(found, 0.5)} ({low} to {high}), at {rfc3339(median_ms)}; within {days} days in "
        f"{found.started} of {futures} futures, between half and twice this wait in {found.agreeing}."
    )


def _after(found: StartEstimate, quantile: float) -> str:
    at_ms = found.quantile_ms(quantile)
    return "never" if at_ms is None else duration((at_ms - found.now_ms) / 1000)


def assumption_lines(state: LiveState, found: StartEstimate, assumed: Assumptions) -> Iterator[str]:
    """Yields what the estimate rests on."""
    yield "nothing else is submitted: later jobs of a higher priority would delay it"
    if found.sources:
        counted = "; ".join(f"{number} {source}" for source, number in sorted(found.sources.items()))
        known = f" (of {state.history.count} past jobs the run time is known)" if state.history.count else ""
        yield f"other workloads run: {counted}{known}"
    yield (
        f"gangs run {assumed.start_up_s:g} s after their admission, and are gone {assumed.termination_s:g} s "
        "after a preemption"
    )
    if any(state.configuration.provisioned.values()):
        yield (
            f"nodes are provisioned in {duration(assumed.provisioning_median_s)} (median, spread "
            f"{assumed.provisioning_spread:g}), and {assumed.stock_out_probability:.0%} of the requests fail"
        )
    for key, problem in state.unreadable.items():
        yield f"Workload {key} is left out: {problem}"


def answer_tables(state: LiveState, found: Verdict) -> list[Table]:
    """Returns the pod sets with their flavors, the preemptions, and the quota that is missing."""
    tables = []
    if found.admission is not None:
        tables.append(_pod_sets(found.admission))
    if found.preemptions:
        tables.append(_preemptions(state, found))
    if found.waiting is not None and found.waiting.shortfalls:
        tables.append(_shortfalls(found.waiting))
    return tables


def _pod_sets(admission: core.Admission) -> Table:
    rows = [
        (assigned.name, f"{assigned.count}", flavor, _usage(assigned, flavor))
        for assigned in admission.pod_sets
        for flavor in dict.fromkeys(assigned.flavors.values())
    ]
    return Table("Flavors", ("POD SET", "PODS", "FLAVOR", "QUOTA"), rows, numbers=4)


def _usage(assigned: core.PodSetAssignment, flavor: str) -> str:
    """Returns what all its pods use of a flavor."""
    used = (
        f"{resource} {quantities.format(resource, assigned.usage.get(resource, 0))}"
        for resource, name in sorted(assigned.flavors.items())
        if name == flavor
    )
    return ", ".join(used)


def _preemptions(state: LiveState, found: Verdict) -> Table:
    rows = []
    for preemption in found.preemptions:
        victim = state.workloads[preemption.workload].workload
        held = victim.admission.cluster_queue if victim.admission else victim.cluster_queue
        rows.append((victim.key, held, preemption.reason.value, f"{victim.priority}"))
    return Table("Would be preempted", ("WORKLOAD", "CLUSTER QUEUE", "REASON", "PRIORITY"), rows)


def _shortfalls(waiting: core.Waiting) -> Table:
    rows = [
        (
            one.flavor,
            one.resource,
            *(
                quantities.format(one.resource, n)
                for n in (one.needed, max(0, one.available), one.missing, one.most)
            ),
        )
        for one in waiting.shortfalls
    ]
    columns = ("FLAVOR", "RESOURCE", "NEEDED", "AVAILABLE", "MISSING", "AT MOST")
    return Table("Missing quota", columns, rows, numbers=2)


def answer_document(
    subject: str, key: str, queue: str, state: LiveState, found: Verdict, start: StartEstimate | None
) -> dict[str, Any]:
    """Returns the answer of `muster try` as JSON."""
    held, waiting = found.admission, found.waiting
    return {
        "job": subject,
        "workload": key,
        "clusterQueue": queue,
        "answer": found.answer.value,
        "podSets": [
            {
                "name": one.name,
                "count": one.count,
                "flavors": dict(one.flavors),
                "resourceUsage": {r: quantities.format(r, n) for r, n in one.usage.items()},
            }
            for one in (held.pod_sets if held else ())
        ],
        "preempts": [
            {
                "workload": one.workload,
                "reason": one.reason.value,
                "priority": state.workloads[one.workload].workload.priority,
            }
            for one in found.preemptions
        ],
        "message": found.message,
        "reason": waiting.reason.name if waiting else "",
        "shortfalls": [_shortfall(one) for one in (waiting.shortfalls if waiting else ())],
        "start": None if start is None else start_document(start),
    }


def _shortfall(one: core.Shortfall) -> Mapping[str, str]:
    amounts = {
        "needed": one.needed,
        "available": max(0, one.available),
        "missing": one.missing,
        "most": one.most,
    }
    return {
        "flavor": one.flavor,
        "resource": one.resource,
        **{name: quantities.format(one.resource, amount) for name, amount in amounts.items()},
    }


def start_document(found: StartEstimate) -> dict[str, Any]:
    """Returns the estimate as JSON; a quantile is null if it lies beyond the horizon."""
    quantiles = {name: found.quantile_ms(quantile) for name, quantile in QUANTILES.items()}
    return {
        "now": rfc3339(found.now_ms),
        **{name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in quantiles.items()},
        "waitSeconds": {
            name: None if at_ms is None else (at_ms - found.now_ms) / 1000
            for name, at_ms in quantiles.items()
        },
        "futures": len(found.starts_ms),
        "started": found.started,
        "agreeing": found.agreeing,
        "runTimes": {source.name.lower(): number for source, number in sorted(found.sources.items())},
    }
