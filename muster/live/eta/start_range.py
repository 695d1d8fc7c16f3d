"""When a gang starts, as a range, and the annotation of its job that says so."""

import json
from dataclasses import dataclass

import msgspec

from muster.live.report import QUANTILES
from muster.live.start import StartEstimate
from muster.objects.meta import millis, rfc3339

ANNOTATION = "muster.dev/eta"

MOVED_MS_MIN = 60_000
MOVED_SHARE_MIN = 0.2  # of the time that is left


@dataclass(frozen=True, slots=True)
class StartRange:
    """The start that one in ten, half, and nine in ten futures reach; None: not within the horizon.
    `futures` were simulated at `at_ms`."""

    at_ms: int
    p10_ms: int | None
    p50_ms: int | None
    p90_ms: int | None
    futures: int

    @property
    def annotation(self) -> str:
        """Returns it as JSON, with the names of `muster eta --json`."""
        times = {"p10": self.p10_ms, "p50": self.p50_ms, "p90": self.p90_ms}
        said = {name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in times.items()}
        return json.dumps({**said, "futures": self.futures, "at": rfc3339(self.at_ms)})

    def has_moved(self, before: "StartRange") -> bool:
        """Whether it differs from an earlier one by what a reader would notice."""
        pairs = ((self.p10_ms, before.p10_ms), (self.p50_ms, before.p50_ms), (self.p90_ms, before.p90_ms))
        return any(self._differ(now_ms, before_ms) for now_ms, before_ms in pairs)

    def _differ(self, one_ms: int | None, other_ms: int | None) -> bool:
        if one_ms is None or other_ms is None:
            return one_ms is not other_ms
        left_ms = max(one_ms, other_ms) - self.at_ms
        return abs(one_ms - other_ms) >= max(MOVED_MS_MIN, MOVED_SHARE_MIN * left_ms)


def start_range(found: StartEstimate) -> StartRange:
    p10_ms, p50_ms, p90_ms = (found.quantile_ms(quantile) for quantile in QUANTILES.values())
    return StartRange(found.now_ms, p10_ms, p50_ms, p90_ms, len(found.starts_ms))


class _Announced(msgspec.Struct):
    """The annotation as JSON."""

    at: str
    futures: int
    p10: str | None = None
    p50: str | None = None
    p90: str | None = None


def read_annotation(text: str) -> StartRange | None:
    """Returns the range that an annotation says; None if it says none, as a user may write anything there."""
    try:
        found = msgspec.json.decode(text, type=_Announced)
        p10_ms, p50_ms, p90_ms = (
            None if at is None else millis(at) for at in (found.p10, found.p50, found.p90)
        )
        return StartRange(millis(found.at), p10_ms, p50_ms, p90_ms, found.futures)
    except ValueError:  # msgspec's and datetime's
        return None
