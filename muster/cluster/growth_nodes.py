"""The nodes of a worker group that grows on a queued pool.

The gang's ProvisioningRequest has the nodes of the minimum. Further pods get separate requests, one at a time
for a group, so that running pods never wait for capacity or lose it. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from muster.admission.lifecycle import Backoff

USE_MS = 60_000
"""The time in which the pods of a provisioned request must have been created: Ray's autoscaler asks for them
in its next loop, after 5 seconds. GKE removes nodes that are idle for 10 minutes."""


class GrowthState(StrEnum):
    """The state of a request."""

    PENDING = auto()
    OVERDUE = auto()  # pending for longer than its config allows
    PROVISIONED = auto()
    EXPIRED = auto()  # BookingExpired: idle nodes may be removed
    FAILED = auto()  # Failed or CapacityRevoked


@dataclass(frozen=True, slots=True)
class GrowthRequest:
    """A request for the nodes of further pods."""

    name: str
    number: int  # in the order of creation
    attempt: int  # since the last request that was provisioned, from 1
    count: int  # of pods
    state: GrowthState
    since_ms: int = 0  # in this state, by the times in the request
    elapsed_ms: int = 0  # in this state, by the controller's clock
    overdue_in_ms: int | None = None  # None: never
    used: int = 0  # pods on its nodes
    message: str = ""

    @property
    def free(self) -> int:
        """The pods that its nodes still have room for. Nodes that are idle for long may have been removed."""
        fresh = self.state is GrowthState.PROVISIONED and self.elapsed_ms < USE_MS
        return max(0, self.count - self.used) if fresh else 0

    @property
    def has_failed(self) -> bool:
        """Returns whether it gave its group no nodes, or lost them."""
        return self.state is GrowthState.FAILED or (self.state is GrowthState.EXPIRED and not self.used)


@dataclass(frozen=True, slots=True)
class GroupNodes:
    """The nodes of a worker group. All numbers count pods."""

    # Running pods, pods of the minimum that are not created yet, and free nodes of requests for growth.
    ready: int
    # Room on nodes of the gang's own request, and of requests for growth, by name.
    free_of_gang: int = 0
    free: tuple[tuple[str, int], ...] = ()
    # The request that is waiting for capacity.
    pending: GrowthRequest | None = None
    # Pods with quota for which no request exists yet, and the number and the attempt of that request.
    missing: int = 0
    number: int = 1
    attempt: int = 1
    # The request whose failure delays the next one, and until when by the times in it.
    failed: GrowthRequest | None = None
    retry_at_ms: int = 0
    # Requests to delete.
    unneeded: frozenset[str] = frozenset()
    # The time after which all of this may change without a change of objects; None: it does not.
    until_in_ms: int | None = None

    @property
    def is_limited(self) -> bool:
        """Returns whether the group can't grow beyond the ready pods for now."""
        return self.pending is not None or self.failed is not None

    def limit(self, hosts: int) -> int:
        """Returns the replicas of this many pods that may exist while the group is limited."""
        return -(-self.ready // hosts)

    def asked(self, asked: int, hosts: int) -> int:
        """Returns the pods that the group asks for, in whole replicas, if its job asks for `asked`: while a
        request is pending, its pods instead of more; right after, also pods that the autoscaler has not
        created yet; and none beyond the ready pods while the next request is delayed."""
        unused = sum(count for _, count in self.free)
        ready = -(-self.ready // hosts) * hosts
        if self.pending is not None:
            with_pending = -(-(self.ready + self.pending.count) // hosts) * hosts
            return with_pending if asked >= self.ready - unused else asked
        if self.failed is not None:
            return min(asked, ready)
        return max(asked, min(asked + unused, ready))


def group_nodes(
    minimum: int, granted: int, running: int, requests: Sequence[GrowthRequest], backoff: Backoff
) -> GroupNodes:
    """Returns the nodes of a group with quota for `granted` pods of which `running` have nodes, including
    terminating pods."""
    ordered = sorted(requests, key=lambda request: request.number)
    free = tuple((r.name, r.free) for r in ordered if r.free)
    free_of_gang = max(0, minimum - running)
    ready = running + free_of_gang + sum(count for _, count in free)
    last = ordered[-1] if ordered else None
    failed = last if last is not None and last.has_failed else None
    wait_ms = backoff.wait_s(failed.attempt) * 1000 if failed is not None else 0
    retry_in_ms = wait_ms - failed.elapsed_ms if failed is not None else 0
    pending = next((r for r in ordered if r.state is GrowthState.PENDING), None)
    # After a preemption the group may have quota for fewer pods than requested.
    if pending is not None and pending.count > granted - ready:
        pending = None
    delayed = failed if pending is None and retry_in_ms > 0 else None
    unneeded = frozenset(r.name for r in ordered if _is_unneeded(r, pending, failed, retry_in_ms))
    return GroupNodes(
        ready=ready,
        free_of_gang=free_of_gang,
        free=free,
        pending=pending,
        missing=0 if pending is not None or delayed is not None else max(0, granted - ready),
        number=last.number + 1 if last is not None else 1,
        attempt=failed.attempt + 1 if failed is not None else 1,
        failed=delayed,
        retry_at_ms=delayed.since_ms + wait_ms if delayed is not None else 0,
        unneeded=unneeded,
        until_in_ms=min(_changes_in_ms(ordered, delayed, retry_in_ms), default=None),
    )


def _is_unneeded(
    request: GrowthRequest, pending: GrowthRequest | None, failed: GrowthRequest | None, retry_in_ms: int
) -> bool:
    """Returns whether the request must be deleted. The last failed request counts the attempts."""
    match request.state:
        case GrowthState.PENDING:
            return request is not pending
        case GrowthState.OVERDUE:
            return True
        case GrowthState.PROVISIONED:
            return not request.used and not request.free
        case GrowthState.EXPIRED:
            return not request.used and (request is not failed or retry_in_ms <= 0)
        case GrowthState.FAILED:
            return not request.used and request is not failed


def _changes_in_ms(
    requests: Sequence[GrowthRequest], delayed: GrowthRequest | None, retry_in_ms: int
) -> Iterator[int]:
    if delayed is not None:
        yield retry_in_ms
    for request in requests:
        if request.free:
            yield USE_MS - request.elapsed_ms
        if request.state is GrowthState.PENDING and request.overdue_in_ms is not None:
            yield request.overdue_in_ms
