"""The estimated growth of an autoscaled gang by worker group, and the annotation of its job."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import granted_counts
from muster.forecast.growth_estimates import GrowthEstimate
from muster.live.eta.start_range import RangeFields, StartRange, start_range
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, rfc3339
from muster.objects.names import GROWTH_ETA_ANNOTATION
from muster.objects.workload_status import GROWTH_LIMITED

CACHED_MAX = 4096
CLOCK_TIME_MS = 20 * 3_600_000  # a later time is shown with its date


@dataclass(frozen=True, slots=True)
class GrowthRange:
    """The first growth of a worker group; numbers are of workers."""

    group: str
    granted: int  # with quota, and with nodes if more are requested, at the time of the estimate
    workers: int  # that are granted first; 0 if none within the horizon
    time: StartRange
    request: str = ""  # the ProvisioningRequest of these workers, which have quota; empty: they have none

    def is_of(self, granted: int, request: str = "") -> bool:
        """Returns whether the estimate still holds for a group with quota for `granted` workers, of which
        some wait for the nodes of `request`; empty: none do."""
        return self.request == request and (bool(request) or self.granted == granted)

    def has_moved(self, before: "GrowthRange") -> bool:
        """Returns whether the estimate differs noticeably from an earlier estimate."""
        return replace(self, time=before.time) != before or self.time.has_moved(before.time)

    def sentence(self, now_ms: int) -> str:
        """Returns the estimate as a clause; empty if it is beyond the horizon or in the past."""
        p50_ms = self.time.p50_ms
        if not self.workers or p50_ms is None or p50_ms <= now_ms:
            return ""
        low, about, high = (_clock(at, now_ms) for at in (self.time.p10_ms, p50_ms, self.time.p90_ms))
        between = "" if low == high else f" ({low} to {high})"
        return f"{self.workers} more expected about {about} UTC{between}"

    def is_over(self, now_ms: int) -> bool:
        """Returns whether the range has passed."""
        return self.time.p90_ms is not None and self.time.p90_ms < now_ms


def growth_ranges(estimates: Iterable[GrowthEstimate]) -> tuple[GrowthRange, ...]:
    """Returns the ranges of estimates."""
    return tuple(GrowthRange(e.group, e.granted, e.pods, start_range(e.time), e.request) for e in estimates)


def have_moved(now: Sequence[GrowthRange], before: Sequence[GrowthRange]) -> bool:
    """Returns whether the estimates of a gang differ noticeably from earlier ones."""
    return len(now) != len(before) or any(a.has_moved(b) for a, b in zip(now, before, strict=True))


def annotation(groups: Iterable[GrowthRange]) -> str:
    """Returns the estimates as JSON."""
    return json.dumps(
        [
            {"group": growth.group, "granted": growth.granted, "workers": growth.workers}
            | ({"request": growth.request} if growth.request else {})
            | growth.time.fields
            for growth in groups
        ]
    )


class _Announced(RangeFields):
    """A group in the annotation."""

    group: str
    granted: int
    workers: int
    request: str = ""


def announced_growth(workload: Workload, cluster: ClusterState) -> tuple[GrowthRange, ...]:
    """Returns the estimates on the Workload's job; none without a job or a valid annotation."""
    job = cluster.job_of(workload)
    text = job.metadata.annotations.get(GROWTH_ETA_ANNOTATION) if job is not None else None
    return _read(text) if text else ()


def current_growth(workload: Workload, cluster: ClusterState) -> tuple[GrowthRange, ...]:
    """Returns the estimates on the Workload's job of groups that still have the size of the estimate.

    The condition GrowthLimited names a request while it is pending, so ProvisioningRequests are not read."""
    granted = granted_counts(workload.status)
    limited = find_condition(workload.status.conditions, GROWTH_LIMITED)
    message = limited.message if limited is not None and limited.status == "True" else ""
    return tuple(
        of
        for of in announced_growth(workload, cluster)
        if of.is_of(granted.get(of.group, 0), of.request if of.request in message else "")
    )


@lru_cache(CACHED_MAX)  # read in each pass
def _read(text: str) -> tuple[GrowthRange, ...]:
    """Parses an annotation; nothing if it is invalid, as users can edit it."""
    try:
        groups = msgspec.json.decode(text, type=list[_Announced])
        return tuple(GrowthRange(of.group, of.granted, of.workers, of.range, of.request) for of in groups)
    except ValueError:  # msgspec's and datetime's
        return ()


def _clock(at_ms: int | None, now_ms: int) -> str:
    if at_ms is None:
        return "later"
    text = rfc3339(at_ms)
    return text[11:16] if at_ms - now_ms < CLOCK_TIME_MS else f"{text[:10]} {text[11:16]}"
