"""Workloads: their pod sets, admissions and state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.admission.model.flavors import PreferredTerm, Requirement, Toleration
from muster.admission.model.topology import TopologyAssignment, TopologyRequest

Resources = Mapping[str, int]

NEVER_MS = 1 << 62  # a time that is never reached
OVER_BUDGET = 1 << 40
"""Priority ranks that a workload loses over a soft budget: more than any priority (32 bits) with aging."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """`count` identical pods of a gang; `requests` are per pod.

    `node_requests` are those that a node must have for a pod; None: `requests`. Devices of claims have quota,
    but are no resources of nodes. `count_min` permits partial admission. `reclaimable` pods have finished and
    use no quota."""

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
    node_requests: Resources | None = None

    @property
    def requests_of_nodes(self) -> Resources:
        """Returns what a node must have for one pod."""
        return self.requests if self.node_requests is None else self.node_requests


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """The assignment of a pod set: a flavor for each resource, and the usage of all its pods.

    With `topology_delayed` it is placed after its admission checks have created the nodes."""

    name: str
    count: int
    flavors: Mapping[str, str]  # resource -> flavor
    usage: Resources
    topology: TopologyAssignment | None = None
    topology_delayed: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """Quota that a workload holds in a ClusterQueue."""

    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]


class CheckState(StrEnum):
    """States of an admission check of a workload."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


@dataclass(frozen=True, slots=True)
class Workload:
    """A gang. `admission` is set while it holds quota; `evicted` while it is being stopped: it holds its
    quota until its pods have terminated and the admission is removed.

    `preempting`: in the last plan it waited for PREEMPTION. It stays first in its queue, so no other
    workload takes the quota that its preemption targets release.

    `surplus_of`: one replica above the minimum of an elastic gang, which is a workload of its own with this
    key. Surplus is admitted only while its gang holds quota, and is evicted with it."""

    key: str  # namespace/name
    uid: str
    cluster_queue: str
    priority: int
    queued_at_ms: int
    pod_sets: tuple[PodSet, ...]
    admission: Admission | None = None
    reserved_at_ms: int = 0
    evicted: bool = False
    requeue_at_ms: int | None = None  # the end of its backoff
    preempting: bool = False
    parked: bool = field(default=False, compare=False)  # inadmissible since it was last tried; see Engine
    local_queue: str = ""  # namespace/name
    checks: Mapping[str, CheckState] = field(default_factory=dict)  # by name
    unhealthy_nodes: tuple[str, ...] = ()  # failed nodes of its pods
    replaces: str | None = None  # key of the slice of the same job that it replaces
    preemption_gated: bool = False  # must not preempt yet
    allowed_flavors: tuple[str, ...] | None = None  # None: all
    run_time_ms: int | None = None  # its declared maximum, from the reservation of quota on
    pinned: bool = False  # a single bare pod, which cannot move to another node
    refused: str = ""  # why its requests are invalid, as a sentence
    surplus_of: str = ""  # key of the gang; empty for gangs
    counts_from_ms: int = 0  # for budgets: earlier usage is in Snapshot.spent; 0: reserved_at_ms
    over_budget: bool = field(default=False, compare=False)  # while it is pending; set by the engine

    @property
    def namespace(self) -> str:
        """The namespace, which is the first part of the key."""
        return self.key.partition("/")[0]

    @property
    def gang_key(self) -> str:
        """The key of its gang: that of the gang whose surplus it is, or its own."""
        return self.surplus_of or self.key

    @property
    def priority_rank(self) -> int:
        """Returns its rank by priority: surplus is below the gangs of its priority, and above those of the
        next lower one. Over a soft budget it is below all workloads that are not."""
        return priority_rank(self.priority, bool(self.surplus_of), self.over_budget)

    def is_backing_off(self, now_ms: int) -> bool:
        """Returns whether its backoff has not expired yet.

        Kueue: backoffWaitingTimeExpired in pkg/cache/queue."""
        return self.requeue_at_ms is not None and self.requeue_at_ms > now_ms


def priority_rank(priority: int, is_surplus: bool, over_budget: bool) -> int:
    """Returns the rank of a workload by priority."""
    return 2 * priority - is_surplus - (OVER_BUDGET if over_budget else 0)


def ranks_over_budget(rank: float) -> bool:
    """Returns whether the rank is that of a workload over a soft budget."""
    return rank < -OVER_BUDGET // 2
