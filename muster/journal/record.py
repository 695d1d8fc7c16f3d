"""The controller's journal of workloads: JSON lines, one record for each workload that is over.

A record is written when its workload finishes, is deleted or is deactivated. The controller may write one
again after a restart: the last record of a uid counts. A reader ignores fields that it does not know; a
change that an older reader would misread raises `VERSION`.
"""

from datetime import datetime
from enum import Enum
from typing import Annotated

import msgspec

from muster.objects.kueue import PODS_MAX
from muster.objects.meta import View

VERSION = 1

_ENCODER = msgspec.json.Encoder()

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339, with a zone."""


class Outcome(Enum):
    """How a workload was over."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    DEACTIVATED = "Deactivated"
    DELETED = "Deleted"


class PodSetRecord(View):
    """Pods that are alike, and what each of them requests, as Kubernetes' quantities."""

    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=PODS_MAX)]
    requests: dict[str, str]


class Eviction(View):
    """A loss of quota before the workload was over; `reason` is that of its condition Evicted."""

    at: Time
    reason: str


class JournalRecord(View):
    """One workload. `admitted_at` and `started_at` are those of its last admission."""

    version: int
    uid: str
    namespace: str
    name: str
    kind: str
    pod_sets: Annotated[tuple[PodSetRecord, ...], msgspec.Meta(min_length=1)]
    created_at: Time
    outcome: Outcome
    queue: str = ""
    priority_class: str = ""
    user: str = ""
    admitted_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None
    evictions: tuple[Eviction, ...] = ()


def write(record: JournalRecord) -> bytes:
    """Returns the record as a line."""
    return _ENCODER.encode(record) + b"\n"
