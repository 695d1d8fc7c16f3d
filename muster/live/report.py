"""Answers about live clusters as sentences, tables and JSON."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster import admission as core
from muster.admission import quantities
from muster.cluster.jobs.scaling import workers
from muster.forecast.assumptions import Assumptions
from muster.forecast.growth_estimates import GrowthEstimate
from muster.forecast.learning.delays import Delay, Delays
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.forecast.start_estimates import HORIZON_MS, StartEstimate
from muster.live.overview.document import document
from muster.live.state import ObservedState
from muster.live.verdict import Verdict, VerdictKind
from muster.objects.meta import rfc3339

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}


def answer_sentence(subject: str, queue: str, verdict: Verdict) -> str:
    """Returns the answer of `muster try` as a sentence."""
    match verdict.answer:
        case VerdictKind.FITS:
            return f"{subject} fits now: it would get quota in ClusterQueue {queue} immediately."
        case VerdictKind.PREEMPTS:
            preempted = verdict.preempted
            return f"{subject} fits now: it would preempt {preempted} and get quota in ClusterQueue {queue}."
        case VerdictKind.WAITS:
            return f"{subject} would wait in ClusterQueue {queue}. Reason: {verdict.message}."
        case VerdictKind.NEVER:
            return f"{subject} cannot be admitted in its current form. Reason: {verdict.message}."


def start_sentence(estimate: StartEstimate) -> str:
    """Returns a sentence about the estimated start and how far the futures agree."""
    futures, days = len(estimate.starts_ms), HORIZON_MS // 86_400_000
    median_ms = estimate.quantile_ms(0.5)
    if median_ms is None:
        return f"Start: not within {days} days in {futures - estimate.started} of {futures} futures."
    low, high = _after(estimate, 0.1), _after(estimate, 0.9)
    return (
        f"Start: in {_after(estimate, 0.5)} ({low} to {high}), at {rfc3339(median_ms)}; within {days} days "
        "in "
        f"{estimate.started} of {futures} futures, between half and twice this wait in {estimate.agreeing}."
    )


def growth_sentence(growth: GrowthEstimate) -> str:
    """Returns a sentence about the estimated growth of a worker group."""
    time, days = growth.time, HORIZON_MS // 86_400_000
    futures, median_ms = len(time.starts_ms), time.quantile_ms(0.5)
    nodes = f" with nodes, by ProvisioningRequest {growth.request}" if growth.request else ""
    group = f"Growth of group {growth.group} beyond {workers(growth.granted)}{nodes}"
    if median_ms is None:
        without = futures - time.started
        return f"{group}: not within {days} days, or before its job ends, in {without} of {futures} futures."
    low, high = _after(time, 0.1), _after(time, 0.9)
    return (
        f"{group}: {growth.pods} more in {_after(time, 0.5)} ({low} to {high}), at {rfc3339(median_ms)}; "
        f"within {days} days in {time.started} of {futures} futures."
    )


def growth_document(growth: Iterable[GrowthEstimate]) -> list[dict[str, Any]]:
    """Returns the estimated growth of worker groups as JSON."""
    return [
        {"group": of.group, "granted": of.granted, "workers": of.pods, "time": start_document(of.time)}
        | ({"request": of.request} if of.request else {})
        for of in growth
    ]


def _after(estimate: StartEstimate, quantile: float) -> str:
    at_ms = estimate.quantile_ms(quantile)
    return "never" if at_ms is None else duration((at_ms - estimate.now_ms) / 1000)


def assumption_lines(
    state: ObservedState, estimate: StartEstimate, assumed: Assumptions, delays: Delays
) -> Iterator[str]:
    """Yields the assumptions of the estimate."""
    if estimate.calibration is not None:
        count = estimate.calibration.count
        if count:
            yield f"the range is corrected by the errors of {count} earlier estimates"
        else:
            yield "no errors of earlier estimates are recorded: the range is wide"
    if state.learned.arrivals.count:
        yield f"jobs are submitted as in the past ({state.learned.arrivals.count} past jobs)"
    else:
        yield "no other job is submitted: later jobs with a higher priority would delay it"
    if estimate.sources:
        counted = "; ".join(f"{number} {source}" for source, number in sorted(estimate.sources.items()))
        count = state.learned.run_times.count
        past = f" ({count} past jobs with a run time)" if count else ""
        yield f"run times of other workloads: {counted}{past}"
    if delays.start_up is None:
        yield f"gangs start {assumed.start_up_s:g} s after admission"
    else:
        yield f"gangs start {_delay(delays.start_up.other)} after admission"
    if any(state.configuration.provisioned.values()):
        if delays.provisioning is None:
            provisioned = (
                f"{duration(assumed.provisioning_median_s)} (spread {assumed.provisioning_spread:g})"
            )
        else:
            provisioned = _delay(delays.provisioning.other)
        failing = f"{assumed.stock_out_probability:.0%} of the requests fail"
        yield f"nodes are provisioned in {provisioned}, and {failing}"
    if any(observed.groups for observed in state.workloads.values()):
        yield (
            "autoscaled gangs ask until they end for the workers that they ask for now and, at their limit, "
            "for one replica more; their run times do not depend on their sizes"
        )
    for key, problem in state.unreadable.items():
        yield f"Workload {key} is ignored: {problem}"


def _delay(delay: Delay) -> str:
    """Returns the range of a delay, and whether it was learned."""
    low_s, high_s = delay.range_s
    source = f"learned from {delay.count} past jobs" if delay.count else "nothing was learned yet: wide range"
    return f"{duration(low_s)} to {duration(high_s)} ({source})"


def answer_tables(state: ObservedState, verdict: Verdict) -> list[Table]:
    """Returns tables of the pod sets with their flavors, the preemptions, and the missing quota."""
    tables = []
    if verdict.admission is not None:
        tables.append(_pod_sets(verdict.admission))
    if verdict.preemptions or verdict.shrinks:
        tables.append(_preemptions(state, verdict))
    if verdict.waiting is not None and verdict.waiting.shortfalls:
        tables.append(_shortfalls(verdict.waiting))
    return tables


def _pod_sets(admission: core.Admission) -> Table:
    rows = [
        (assigned.name, f"{assigned.count}", flavor, _usage(assigned, flavor))
        for assigned in admission.pod_sets
        for flavor in dict.fromkeys(assigned.flavors.values())
    ]
    return Table("Flavors", ("POD SET", "PODS", "FLAVOR", "QUOTA"), rows, numbers=4)


def _usage(assigned: core.PodSetAssignment, flavor: str) -> str:
    """Returns the usage of a flavor by all pods of the set."""
    used = (
        f"{resource} {quantities.format(resource, assigned.usage.get(resource, 0))}"
        for resource, name in sorted(assigned.flavors.items())
        if name == flavor
    )
    return ", ".join(used)


def _preemptions(state: ObservedState, verdict: Verdict) -> Table:
    rows = []
    for preemption in verdict.preemptions:
        target = state.workloads[preemption.workload].workload
        queue = target.admission.cluster_queue if target.admission else target.cluster_queue
        rows.append((target.key, queue, preemption.reason.value, f"{target.priority}"))
    for shrink in verdict.shrinks:
        holder = state.workloads[shrink.workload].workload
        name = f"{shrink.workload} ({shrink.replicas} replicas)"
        rows.append((name, holder.cluster_queue, shrink.reason.value, f"{holder.priority}"))
    return Table("Would be preempted", ("WORKLOAD", "CLUSTER QUEUE", "REASON", "PRIORITY"), rows)


def _shortfalls(waiting: core.Waiting) -> Table:
    rows = [
        (
            shortfall.flavor,
            shortfall.resource,
            *(
                quantities.format(shortfall.resource, n)
                for n in (
                    shortfall.needed,
                    max(0, shortfall.available),
                    shortfall.missing,
                    shortfall.available_max,
                )
            ),
        )
        for shortfall in waiting.shortfalls
    ]
    columns = ("FLAVOR", "RESOURCE", "NEEDED", "AVAILABLE", "MISSING", "MAXIMUM")
    return Table("Missing quota", columns, rows, numbers=2)


def answer_document(
    subject: str,
    key: str,
    queue: str,
    state: ObservedState,
    verdict: Verdict,
    start: StartEstimate | None,
    growth: Iterable[GrowthEstimate] = (),
) -> dict[str, Any]:
    """Returns the answer of `muster try` as JSON."""
    admission, waiting = verdict.admission, verdict.waiting
    return {
        "job": subject,
        "workload": key,
        "clusterQueue": queue,
        "answer": verdict.answer.value,
        "podSets": [
            {
                "name": pod_set.name,
                "count": pod_set.count,
                "flavors": dict(pod_set.flavors),
                "resourceUsage": {r: quantities.format(r, n) for r, n in pod_set.usage.items()},
            }
            for pod_set in (admission.pod_sets if admission else ())
        ],
        "preempts": [
            {
                "workload": preemption.workload,
                "reason": preemption.reason.value,
                "priority": state.workloads[preemption.workload].workload.priority,
            }
            for preemption in verdict.preemptions
        ],
        "shrinks": document(verdict.shrinks),
        "message": verdict.message,
        "reason": waiting.reason.name if waiting else "",
        "shortfalls": [_shortfall(shortfall) for shortfall in (waiting.shortfalls if waiting else ())],
        "start": None if start is None else start_document(start),
        "growth": document(verdict.growth),
        "nextGrowth": growth_document(growth),
    }


def _shortfall(shortfall: core.Shortfall) -> Mapping[str, str]:
    amounts = {
        "needed": shortfall.needed,
        "available": max(0, shortfall.available),
        "missing": shortfall.missing,
        "availableMax": shortfall.available_max,
    }
    return {
        "flavor": shortfall.flavor,
        "resource": shortfall.resource,
        **{name: quantities.format(shortfall.resource, amount) for name, amount in amounts.items()},
    }


def start_document(estimate: StartEstimate) -> dict[str, Any]:
    """Returns the estimate as JSON; a quantile beyond the horizon is null."""
    quantiles = {name: estimate.quantile_ms(quantile) for name, quantile in QUANTILES.items()}
    return {
        "now": rfc3339(estimate.now_ms),
        **{name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in quantiles.items()},
        "waitSeconds": {
            name: None if at_ms is None else (at_ms - estimate.now_ms) / 1000
            for name, at_ms in quantiles.items()
        },
        "futures": len(estimate.starts_ms),
        "started": estimate.started,
        "agreeing": estimate.agreeing,
        "runTimes": {source.name.lower(): number for source, number in sorted(estimate.sources.items())},
    }
