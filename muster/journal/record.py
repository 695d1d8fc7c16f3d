"""The controller's journal of workloads: JSON lines, with a record for each workload that has ended.

A record is written when a workload finishes, is deleted or is deactivated. After a restart the controller may
write a record again; the last record of a uid counts. Readers ignore unknown fields; a change that older
readers would misinterpret increments `VERSION`.
"""

from datetime import datetime
from enum import Enum
from typing import Annotated

import msgspec

from muster.objects.kueue import PODS_MAX, TopologyRequest
from muster.objects.meta import View

VERSION = 1

_ENCODER = msgspec.json.Encoder()

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339 with a time zone."""


class WorkloadOutcome(Enum):
    """The final state of a workload."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    DEACTIVATED = "Deactivated"
    DELETED = "Deleted"


class PodSetRecord(View):
    """Equal pods and the requests of each, as Kubernetes quantities."""

    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=PODS_MAX)]
    requests: dict[str, str]
    flavors: dict[str, str] = {}  # by resource, of its last admission
    topology: TopologyRequest | None = None


class Eviction(View):
    """A loss of quota before the workload ended; `reason` is from its condition Evicted."""

    at: Time
    reason: str


class SizeChange(View):
    """The pods of a worker group from a time on. `limited`: it does not ask for another, as no quota is
    free."""

    at: Time
    granted: Annotated[int, msgspec.Meta(ge=0)]  # that hold quota
    asked: Annotated[int, msgspec.Meta(ge=0)]
    limited: bool = False


class GroupRecord(View):
    """A worker group of an autoscaled job; all numbers are of pods. `pod_sets` of the record has its
    minimum."""

    name: str
    requests: dict[str, str]
    minimum: Annotated[int, msgspec.Meta(ge=0)]
    maximum: Annotated[int, msgspec.Meta(ge=0)]
    replica: Annotated[int, msgspec.Meta(ge=1)] = 1
    flavors: dict[str, str] = {}
    topology: TopologyRequest | None = None
    changes: tuple[SizeChange, ...] = ()


Seconds = Annotated[float, msgspec.Meta(ge=0)]


class EstimateRecord(View):
    """An estimate of a start, `waited` after the creation: percentiles of the time until the start as
    simulated, without corrections, and that time. All in seconds."""

    waited: Seconds
    p10: Seconds
    p50: Seconds
    p90: Seconds
    actual: Seconds


class JournalRecord(View):
    """One workload. `reserved_at` (with admission checks), `admitted_at` and `started_at` are from its last
    admission; `limit_seconds` is its maximum execution time."""

    version: int
    uid: str
    namespace: str
    name: str
    kind: str
    pod_sets: Annotated[tuple[PodSetRecord, ...], msgspec.Meta(min_length=1)]
    created_at: Time
    outcome: WorkloadOutcome
    queue: str = ""
    priority_class: str = ""
    user: str = ""
    reserved_at: Time | None = None
    admitted_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None
    limit_seconds: int | None = None
    evictions: tuple[Eviction, ...] = ()
    groups: tuple[GroupRecord, ...] = ()  # of an autoscaled job
    estimates: tuple[EstimateRecord, ...] = ()  # that were followed by a start


def write(record: JournalRecord) -> bytes:
    """Encodes a record as a line."""
    return _ENCODER.encode(record) + b"\n"
