"""LeaderWorkerSets, `leaderworkerset.x-k8s.io/v1`: the fields that admission uses.

Source: LeaderWorkerSet v0.8.0 api/leaderworkerset/v1/leaderworkerset_types.go.
"""

import re

from msgspec.structs import force_setattr

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import NO_TEMPLATE, Template, own_template
from muster.objects.sharing import share_struct

LABEL_DOMAIN = "leaderworkerset.sigs.k8s.io"
# Of the StatefulSets that the controller creates, and of their pods.
SET_NAME_LABEL = f"{LABEL_DOMAIN}/name"
WORKER_INDEX_LABEL = f"{LABEL_DOMAIN}/worker-index"
_PERCENT = re.compile(r"(\d{1,3})%")


class RollingUpdate(View):
    """How groups are replaced when a template changes. `max_surge`: the groups in addition to the replicas,
    or a percentage of them."""

    partition: int | None = None
    max_surge: int | str = 0

    def surge(self, replicas: int) -> int:
        """Returns the most groups in addition to the replicas (rollingUpdateParameters). An unreadable value,
        which the webhook refuses, counts as all."""
        if isinstance(self.max_surge, int):
            return min(max(self.max_surge, 0), replicas)
        percent = _PERCENT.fullmatch(self.max_surge)
        return min(-(-replicas * int(percent[1]) // 100), replicas) if percent else replicas


class RolloutStrategy(View):
    """The only strategy is a rolling update."""

    rolling_update_configuration: RollingUpdate = RollingUpdate()


class LeaderWorkerTemplate(View):
    """A group: a leader and `size` - 1 workers. Without its own template, the leader has the workers'."""

    worker_template: Template = NO_TEMPLATE
    leader_template: Template = NO_TEMPLATE
    size: int | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "worker_template", own_template(self.worker_template))
        force_setattr(self, "leader_template", own_template(self.leader_template))

    @property
    def has_leader_template(self) -> bool:
        """Returns whether the leader has a template of its own."""
        return bytes(self.leader_template) not in (b"{}", b"null")


class LeaderWorkerSetSpec(View, gc=True, weakref=True):
    """The groups, and how many of them there are."""

    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    replicas: int | None = None
    rollout_strategy: RolloutStrategy = RolloutStrategy()


class LeaderWorkerSetStatus(View):
    """The state of the groups. `replicas`: leaders that exist."""

    conditions: tuple[Condition, ...] = ()
    replicas: int = 0
    ready_replicas: int = 0


class LeaderWorkerSet(Object):
    """A LeaderWorkerSet, which runs groups of pods that serve together."""

    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()

    def __post_init__(self) -> None:
        share_struct(self, "spec")
