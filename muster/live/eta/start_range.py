"""The estimated start of a gang as a range, and the annotation of its job."""

import json
from dataclasses import dataclass

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.forecast.start_estimates import StartEstimate
from muster.live.report import QUANTILES
from muster.objects.kueue import Workload
from muster.objects.meta import millis, rfc3339
from muster.objects.names import ETA_ANNOTATION

MOVED_MS_MIN = 10_000
MOVED_SHARE_MIN = 0.2  # of the time until the start


@dataclass(frozen=True, slots=True)
class StartRange:
    """The 10th, 50th and 90th percentile of the start over the simulated futures; None: beyond the
    horizon."""

    at_ms: int  # the time of the estimate
    p10_ms: int | None
    p50_ms: int | None
    p90_ms: int | None
    futures: int  # number of simulated futures

    @property
    def fields(self) -> dict[str, object]:
        """The range as JSON, with the keys of `muster eta --json`."""
        times = {"p10": self.p10_ms, "p50": self.p50_ms, "p90": self.p90_ms}
        texts = {name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in times.items()}
        return {**texts, "futures": self.futures, "at": rfc3339(self.at_ms)}

    @property
    def annotation(self) -> str:
        """The value of the job's annotation."""
        return json.dumps(self.fields)

    def has_moved(self, before: "StartRange") -> bool:
        """Returns whether the range differs noticeably from an earlier range."""
        pairs = ((self.p10_ms, before.p10_ms), (self.p50_ms, before.p50_ms), (self.p90_ms, before.p90_ms))
        return any(self._differ(now_ms, before_ms) for now_ms, before_ms in pairs)

    def _differ(self, start_ms: int | None, earlier_ms: int | None) -> bool:
        if start_ms is None or earlier_ms is None:
            return start_ms is not earlier_ms
        remaining_ms = max(start_ms, earlier_ms) - self.at_ms
        return abs(start_ms - earlier_ms) >= max(MOVED_MS_MIN, MOVED_SHARE_MIN * remaining_ms)


def start_range(estimate: StartEstimate) -> StartRange:
    """Returns the range of an estimate."""
    p10_ms, p50_ms, p90_ms = (estimate.quantile_ms(quantile) for quantile in QUANTILES.values())
    return StartRange(estimate.now_ms, p10_ms, p50_ms, p90_ms, len(estimate.starts_ms))


class RangeFields(msgspec.Struct, kw_only=True):
    """A range as JSON, as in `StartRange.fields`."""

    at: str
    futures: int
    p10: str | None = None
    p50: str | None = None
    p90: str | None = None

    @property
    def range(self) -> StartRange:
        """The range. Raises: ValueError for an invalid time."""
        p10_ms, p50_ms, p90_ms = (None if at is None else millis(at) for at in (self.p10, self.p50, self.p90))
        return StartRange(millis(self.at), p10_ms, p50_ms, p90_ms, self.futures)


def announced(workload: Workload, cluster: ClusterState) -> StartRange | None:
    """Returns the estimate on the Workload's job; None without a job or a valid annotation."""
    job = cluster.job_of(workload)
    text = job.metadata.annotations.get(ETA_ANNOTATION) if job is not None else None
    return _read(text) if text else None


def _read(text: str) -> StartRange | None:
    """Parses an annotation; None if it is invalid, as users can edit it."""
    try:
        return msgspec.json.decode(text, type=RangeFields).range
    except ValueError:  # msgspec's and datetime's
        return None
