"""The sizes of autoscaled jobs over time, as the journal records them."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from muster.admission import QuantityError, quantities
from muster.forecast.traces.pod_sets import merged
from muster.forecast.traces.rows import RowError
from muster.forecast.traces.trace import SizeDemand, TraceElastic, TraceGroup
from muster.forecast.traces.values import SECOND, shown
from muster.journal.record import GroupRecord, JournalRecord
from muster.translation.core_nodes import topology_request


def elastic_of(record: JournalRecord, begun: datetime) -> TraceElastic | None:
    """Returns the worker groups of an autoscaled job whose last run began at `begun`; None for a job of a
    fixed size, or without a recorded size. Raises: RowError."""
    groups = tuple(_group(group, begun) for group in record.groups if group.changes)
    if not groups:
        return None
    names = {group.name for group in groups}
    pods, requests = merged(
        [
            (pod_set.count, units_of(pod_set.requests))
            for pod_set in record.pod_sets
            if pod_set.name not in names
        ]
    )
    return TraceElastic(pods, requests, groups)


def _group(group: GroupRecord, begun: datetime) -> TraceGroup:
    if group.minimum > group.maximum or group.minimum % group.replica:
        raise RowError(
            f"group {shown(group.name)} has minimum {group.minimum}, maximum {group.maximum} and replicas of "
            f"{group.replica}: expected a minimum of whole replicas, at most the maximum"
        )
    requests = units_of(group.requests)
    return TraceGroup(
        group.name,
        requests,
        group.minimum,
        group.maximum,
        group.replica,
        tuple(_demand(group, begun)),
        topology_request(group.topology),
    )


def _demand(group: GroupRecord, begun: datetime) -> Iterator[SizeDemand]:
    """Yields the demand since the start: that of the last change before, and those after."""
    before = [change for change in group.changes if change.at <= begun]
    after = [change for change in group.changes if change.at > begun]
    first, *others = [*before[-1:], *after]
    yield SizeDemand(0, first.asked, first.limited, first.granted)
    for change in others:
        since_ms = round((change.at - begun).total_seconds() * SECOND)
        yield SizeDemand(since_ms, change.asked, change.limited, change.granted)


def units_of(requests: Mapping[str, str]) -> dict[str, int]:
    """Returns requests in the core's units. Raises: RowError."""
    return {resource: units(resource, text) for resource, text in requests.items()}


def units(resource: str, text: str) -> int:
    """Returns an amount in the core's units. Raises: RowError."""
    try:
        amount = quantities.parse(resource, text)
    except QuantityError as problem:
        raise RowError(str(problem)) from None
    if amount < 0:
        raise RowError(f"{resource} is {shown(text)}: expected 0 or more")
    return amount
