"""Sums up the decisions on a gang and on its surplus, which the core decides on one replica at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster import admission as core
from muster.translation.elastic import gang_of, grown, is_surplus


@dataclass(frozen=True, slots=True)
class Resize:
    """The new admission of a gang that stays admitted, and the preemptions of its surplus, which name the
    gang."""

    admission: core.Admission
    preemptions: tuple[core.Preemption, ...] = ()


@dataclass(frozen=True, slots=True)
class GangPlan:
    """A plan for whole gangs: `plan` without surplus, and the gangs to resize, by key."""

    plan: core.Plan
    resizes: Mapping[str, Resize]


def of_gangs(plan: core.Plan, split: Callable[[str], Sequence[core.Workload]]) -> GangPlan:
    """Returns the plan for whole gangs. `split` returns a gang, by its key, and its surplus."""
    admitted = {a.workload: a.admission for a in plan.admissions if is_surplus(a.workload)}
    preemptions = tuple(replace(p, preemptor=gang_of(p.preemptor)) for p in plan.preemptions)
    preempted = {p.workload: p for p in preemptions if is_surplus(p.workload)}
    gangs = replace(
        plan,
        admissions=tuple(a for a in plan.admissions if not is_surplus(a.workload)),
        preemptions=tuple(p for p in preemptions if not is_surplus(p.workload)),
        drained=tuple(key for key in plan.drained if not is_surplus(key)),
        displaced=tuple(key for key in plan.displaced if not is_surplus(key)),
    )
    evicted = {*(p.workload for p in gangs.preemptions), *gangs.drained, *gangs.displaced, *gangs.replaced}
    resizes: dict[str, Resize] = {}
    for key in sorted({gang_of(key) for key in (*admitted, *preempted)} - evicted):
        gang, *surplus = split(key)
        assert gang.admission is not None, "only a gang with quota has surplus"
        admissions = _remaining(surplus, admitted, preempted)
        losses = (replace(p, workload=key) for s, p in sorted(preempted.items()) if gang_of(s) == key)
        resizes[key] = Resize(grown(gang.admission, admissions), tuple(losses))
    return GangPlan(gangs, resizes)


def _remaining(
    surplus: Sequence[core.Workload],
    admitted: Mapping[str, core.Admission],
    preempted: Mapping[str, core.Preemption],
) -> Iterator[core.Admission]:
    """Yields the admissions of the replicas that hold quota after the decision."""
    for replica in surplus:
        held = admitted.get(replica.key, None if replica.evicted else replica.admission)
        if held is not None and replica.key not in preempted:
            yield held
