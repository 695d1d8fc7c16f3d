"""How far the heads of a pass came in their search for flavors."""

from muster.admission.cycle.entry import Entry
from muster.admission.flavors.progress import Progress

SCANS_MAX = 32  # cycles in which a head tries its flavors while nothing changes
_OVER = Progress()  # all flavors have been tried


class Scans:
    """Since the last change."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, list[Progress]] = {}

    def clear(self) -> None:
        self._by_key.clear()

    def goes_on(self, head: Entry) -> bool:
        """Whether the next cycle is to try the head's other flavors. Once it has tried all of them, or
        its pod sets have come round to where they stood before, only a change can help: or heads that
        take turns in it would go on for ever."""
        scans = self._by_key.setdefault(head.workload.key, [])
        progress = _OVER if head.scan is None else head.scan.progress
        new = progress not in scans and _OVER not in scans
        goes_on = progress.pending and new and len(scans) < SCANS_MAX
        scans.append(progress if goes_on else _OVER)
        return goes_on
