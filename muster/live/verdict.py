"""Decides whether a workload that is not submitted yet would get quota now, and what it would preempt."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from muster import admission as core
from muster.cluster.cluster_state import ClusterState
from muster.cluster.eligibility import SUSPENDED, ineligibility
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.queue_counts import INADMISSIBLE
from muster.forecast.simulation.elastic import may_grow
from muster.live.growth import GroupGrowth, growth, minimums
from muster.live.state import ObservedState
from muster.live.submitted import Submitted
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition
from muster.objects.workload_status import QUOTA_RESERVED
from muster.translation.elastic import gang_of, is_surplus

DECISIONS_MAX = 100  # per moment, as gangs may preempt each other in turn
ROUNDS_MAX = 10  # of preemptions; usually one, as the core selects all targets together
NEVER = frozenset(
    {
        core.WaitReason.NEVER_FITS,
        core.WaitReason.NO_FLAVOR,
        core.WaitReason.REFUSED,
        core.WaitReason.QUEUE_INACTIVE,
    }
)
"""Reasons that hold until the job or its queue is changed."""


class VerdictKind(StrEnum):
    """Answers to whether a workload can be admitted now."""

    FITS = "fits"
    PREEMPTS = "preempts"
    WAITS = "waits"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Shrink:
    """An elastic gang that goes on with less surplus."""

    workload: str  # key
    replicas: int  # that are preempted
    reason: core.PreemptionReason


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a workload."""

    answer: VerdictKind
    admission: core.Admission | None = None  # immediately, or after its preemptions
    preemptions: tuple[core.Preemption, ...] = ()  # of whole gangs
    shrinks: tuple[Shrink, ...] = ()
    waiting: core.Waiting | None = None
    message: str = ""  # why it waits; continues a sentence about the workload
    growth: tuple[GroupGrowth, ...] = ()  # of an autoscaled job that would get quota

    @property
    def preempted(self) -> str:
        """The preempted workloads and replicas as an object of a sentence."""
        count = len(self.preemptions)
        workloads = ["one workload" if count == 1 else f"{count} workloads"] if count else []
        replicas = [
            f"{shrink.replicas} replica{'s' if shrink.replicas > 1 else ''} of {shrink.workload}"
            for shrink in self.shrinks
        ]
        return " and ".join((*workloads, *replicas))


def verdict(state: ObservedState, added: Submitted) -> Verdict:
    """Decides on the cluster with the job added, and carries out the preemptions."""
    engine = core.Engine(state.snapshot(), state.configuration.rules)
    decided = verdict_of(state, engine, added.workload, added.job, added.cluster)
    sizes = stored_sizes(added.workload)
    if decided.admission is None or not sizes:
        return decided
    if not may_grow(state.configuration, decided.admission):
        return replace(decided, growth=minimums(sizes))
    workload = state.workloads[added.workload.key].workload
    groups = growth(engine, workload, decided.admission, sizes, state.now_ms)
    queued = _on_queued_pools(state, decided.admission)
    groups = tuple(replace(group, queued=group.group in queued) for group in groups)
    return replace(decided, growth=groups)


def _on_queued_pools(state: ObservedState, admission: core.Admission) -> set[str]:
    """Returns the pod sets whose nodes are requested by an admission check."""
    provisioned = state.configuration.provisioned.get(admission.cluster_queue, frozenset())
    return {a.name for a in admission.pod_sets if not provisioned.isdisjoint(a.flavors.values())}


def verdict_of(
    state: ObservedState, engine: core.Engine, workload: Workload, job: Job | None, cluster: ClusterState
) -> Verdict:
    """Decides on a pending workload of a cluster, and carries out its preemptions in `engine`, which holds
    the workloads of `state`."""
    problem, key = ineligibility(workload, job, cluster), workload.key
    if problem is not None:
        answer = VerdictKind.WAITS if problem.reason == SUSPENDED else VerdictKind.NEVER
        return Verdict(answer, message=problem.message)
    if key not in state.workloads:
        return Verdict(VerdictKind.NEVER, message=state.unreadable.get(key) or _status_message(workload))
    preemptions: list[core.Preemption] = []
    for _ in range(ROUNDS_MAX):
        admission, chosen = _decide(engine, key, state.now_ms)
        if admission is not None:
            answer = VerdictKind.PREEMPTS if preemptions else VerdictKind.FITS
            return Verdict(answer, admission, *_of_gangs(preemptions))
        preemptions += chosen
        if not chosen:
            break
        _release(engine, state, (preemption.workload for preemption in chosen))
    (waiting,) = engine.waiting(state.now_ms, [key])
    answer = VerdictKind.NEVER if waiting.reason in NEVER else VerdictKind.WAITS
    return Verdict(answer, None, *_of_gangs(preemptions), waiting, waiting.message)


def _of_gangs(
    preemptions: Sequence[core.Preemption],
) -> tuple[tuple[core.Preemption, ...], tuple[Shrink, ...]]:
    """Returns the preemptions of whole gangs, and the gangs of which only surplus is preempted."""
    gangs = {p.workload: p for p in preemptions if not is_surplus(p.workload)}
    reasons: dict[str, list[core.PreemptionReason]] = defaultdict(list)
    for preemption in preemptions:
        gang = gang_of(preemption.workload)
        if gang not in gangs:
            reasons[gang].append(preemption.reason)
    shrinks = (Shrink(gang, len(of_gang), of_gang[0]) for gang, of_gang in reasons.items())
    return tuple(gangs.values()), tuple(shrinks)


def last_verdict(workload: Workload) -> Verdict:
    """Returns the controller's last decision on a pending workload, from its status."""
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    never = not workload.spec.active or (reserved is not None and reserved.reason in INADMISSIBLE)
    return Verdict(VerdictKind.NEVER if never else VerdictKind.WAITS, message=_status_message(workload))


def _status_message(workload: Workload) -> str:
    """Returns the reason in the status for which the workload is not queued."""
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    return reserved.message if reserved is not None else "the controller has not decided yet"


def _decide(
    engine: core.Engine, key: str, now_ms: int
) -> tuple[core.Admission | None, list[core.Preemption]]:
    """Decides until nothing changes. Returns the workload's admission, and the preemptions on its behalf."""
    admission, preemptions = None, []
    for _ in range(DECISIONS_MAX):
        plan = engine.decide(now_ms, explain=False)
        admission = next((d.admission for d in plan.admissions if d.workload == key), admission)
        preemptions += [p for p in plan.preemptions if p.preemptor == key]
        if engine.settled:
            break
    return admission, preemptions


def _release(engine: core.Engine, state: ObservedState, targets: Iterable[str]) -> None:
    """Requeues the targets, as if their pods had terminated; surplus ends."""
    for key in targets:
        engine.remove(key)
        if is_surplus(key):
            continue
        target = state.workloads[key].parts[0]
        engine.put(replace(target, admission=None, reserved_at_ms=0, evicted=False, checks={}))
