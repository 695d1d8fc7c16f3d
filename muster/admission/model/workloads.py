"""Gangs: their requests, their admissions, and their state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.admission.model.flavors import PreferredTerm, Requirement, Toleration
from muster.admission.model.topology import TopologyAssignment, TopologyRequest

Resources = Mapping[str, int]

NEVER_MS = 1 << 62  # a time that does not come by itself


@dataclass(frozen=True, slots=True)
class PodSet:
    """`count` equal pods of a gang; `requests` is what one of them asks for.

    With `count_min` fewer pods will do, if not all fit (partial admission). `reclaimable` of them
    are done and need nothing any more."""

    name: str
    count: int
    requests: Resources
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[tuple[Requirement, ...], ...] = ()  # any of (all of)
    affinity_preferred: tuple[PreferredTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    count_min: int | None = None
    reclaimable: int = 0
    topology: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """Where a pod set goes: a flavor for each resource, and what all its pods use together.

    `topology_delayed`: it is placed only once its admission checks have made the nodes."""

    name: str
    count: int
    flavors: Mapping[str, str]  # resource -> flavor
    usage: Resources
    topology: TopologyAssignment | None = None
    topology_delayed: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]


class CheckState(StrEnum):
    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True)
class Workload:
    """A gang. `admission` is set once its quota is reserved, whole; `evicted` while it is being
    stopped: it holds its quota until its pods are gone and the admission is withdrawn.

    `preempting` says that the last plan left it waiting for PREEMPTION: it goes first, so that
    no other workload takes the room that its victims make."""

    key: str  # namespace/name
    uid: str
    cluster_queue: str
    priority: int
    queued_at_ms: int
    pod_sets: tuple[PodSet, ...]
    admission: Admission | None = None
    reserved_at_ms: int = 0
    evicted: bool = False
    requeue_at_ms: int | None = None  # not to be tried before, after a failed check
    preempting: bool = False
    parked: bool = field(default=False, compare=False)  # tried in vain since it was queued; see Engine
    local_queue: str = ""  # namespace/name
    checks: Mapping[str, CheckState] = field(default_factory=dict)  # by name
    unhealthy_nodes: tuple[str, ...] = ()  # that pods of it were placed on
    replaces: str | None = None  # key of the slice of the same job that it grows from
    preemption_gated: bool = False  # it may not preempt yet
    allowed_flavors: tuple[str, ...] | None = None  # those it may take, if not all
    run_time_ms: int | None = None  # declared: how long it runs at most, once it has its quota
    pinned: bool = False  # it is one bare pod, which stays on its node, or ends
    refused: str = ""  # why it can not be admitted as it is, as a sentence: what it asks breaks a limit

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]
