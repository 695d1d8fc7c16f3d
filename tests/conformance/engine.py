"""Decides a case with `decide` and with an incremental engine, as the controller does.

A case of Kueue's is one cycle; `decide` runs cycles until nothing changes. Each case must satisfy:

- the plan contains everything that Kueue reserves and preempts in its cycle;
- after the plan is carried out, a full round of cycles, which tries every workload, finds nothing more to do
  (`left_to_do`);
- an engine that receives every change, while workloads arrive, finish and are preempted one by one, decides
  and explains as a fresh one does from the same objects (`rounds`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from muster import admission as core
from muster.admission.cycle.cycle import Cycle
from muster.admission.cycle.entry import REQUEUE, Entry, EntryOutcome
from muster.admission.flavors.placement import needs_second_pass
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState
from muster.objects import kueue
from muster.translation import core_workload
from tests.conformance.board import Board, neutral, neutral_of
from tests.conformance.case import Case, Data
from tests.conformance.objects import snapshot_of, view
from tests.conformance.rules import rules_of
from tests.conformance.suites.cycle import compare
from tests.conformance.suites.tas import expected_admissions, with_places

ROUNDS_MAX = 40
STEP_MS = 60_000  # of the clock, between rounds


def decided(case: Case) -> None:
    """Checks the case. Raises: AssertionError with the first difference."""
    if case.suite not in SUITES or case.config.get("statusPatchError"):
        return
    rules = rules_of(case)
    of = SUITES[case.suite](case, rules)
    plan = core.decide(of, case.now_ms, rules)
    if _leaves_no_choice(case, of):
        _compare_with_kueue(of, plan, case.expect)
    engine = core.Engine(of, rules)
    engine.decide(case.now_ms)
    more = left_to_do(_with_marks_of(engine, carried_out(of, plan, case.now_ms)), rules, case.now_ms)
    assert not more, f"decide leaves to do: {more}"
    for what, incremental, fresh in rounds(of, rules, case.now_ms):
        assert incremental == fresh, f"{what}: incremental engine {incremental}\n  fresh engine {fresh}"


def _board(case: Case, rules: core.Rules) -> core.Snapshot:
    return Board(case, rules).state.snapshot


def _preemptor(case: Case, rules: core.Rules) -> core.Snapshot:
    """Returns the workloads with quota, and the incoming preemptor."""
    incoming = view(case.input["incoming"], kueue.Workload)
    pending = core_workload.workload(incoming, incoming.status, case.input["targetClusterQueue"], rules)
    of = snapshot_of(case.input, rules)
    return replace(of, workloads=(*of.workloads, pending))


SUITES: Mapping[str, Callable[[Case, core.Rules], core.Snapshot]] = {
    "TestSchedule": _board,
    "TestScheduleForFairSharing": _board,
    "TestScheduleRecomputePreemptionTargets": _board,
    "TestScheduleForPreserveFlavorScanProgress": _board,
    "TestLastSchedulingContext": _board,
    "TestScheduleForTAS": _board,
    "TestScheduleForTASPreemption": _board,
    "TestScheduleForTASCohorts": _board,
    "TestPreemption": _preemptor,
    "TestHierarchicalPreemptions": _preemptor,
    "TestFairPreemptions": _preemptor,
}
"""Builds the snapshot of a case, by suite."""


def _is_to_be_placed(of: core.Snapshot, key: str) -> bool:
    """Returns whether it has quota, and healthy nodes that its pods can now be placed on."""
    return any(
        workload.key == key
        and workload.admission is not None
        and not workload.unhealthy_nodes
        and needs_second_pass(workload)
        for workload in of.workloads
    )


def _leaves_no_choice(case: Case, of: core.Snapshot) -> bool:
    """Returns whether the workload can only get the flavors that the case gives it."""
    assigned_flavors = {
        (resource, flavor["name"])
        for pod_set in (case.input.get("assignment") or {}).get("podSets") or ()
        for resource, flavor in pod_set["flavors"].items()
    }
    if not assigned_flavors:
        return True
    queue = of.cluster_queues[case.input["targetClusterQueue"]]
    named = {(r, quotas.flavor) for g in queue.groups for r in g.covered for quotas in g.flavors}
    return assigned_flavors == {column for column in named if column[0] in dict(assigned_flavors)}


def _compare_with_kueue(of: core.Snapshot, plan: core.Plan, expect: Data) -> None:
    """Checks that the plan contains Kueue's decisions on workloads without quota; it may contain more."""
    summary = expect.get("summary") or expect.get("summaryAfterFirstCycle") or {}
    reserved = summary.get("newlyQuotaReserved") or {
        key: of for key, of in (expect.get("admissions") or {}).items() if of.get("new")
    }
    actual = {planned.workload: neutral(planned.admission) for planned in plan.admissions}
    pending = {planned.key for planned in of.workloads if planned.admission is None}
    placed = {planned.workload: with_places(planned.admission) for planned in plan.admissions}
    for key, expected in expected_admissions(expect.get("admissions")).items():
        if _is_to_be_placed(of, key):
            compare(f"places of {key}", placed.get(key), expected)
    for key in pending & reserved.keys():
        compare(f"admission of {key}", actual.get(key), neutral_of(reserved[key]))
    victims = {(planned.workload, str(planned.reason)) for planned in plan.preemptions}
    preempted = {
        (planned["workload"].removeprefix("/"), planned["reason"])
        for planned in summary.get("preempted") or ()
    }
    compare("missing preemptions", preempted - victims, set())


def carried_out(before: core.Snapshot, plan: core.Plan, now_ms: int) -> core.Snapshot:
    """Returns the objects after the controller has written the plan; victims still hold their quota."""
    admitted = {decision.workload: decision.admission for decision in plan.admissions}
    leaving = {*(preemption.workload for preemption in plan.preemptions), *plan.drained, *plan.displaced}

    def after(workload: core.Workload) -> core.Workload:
        if workload.key in admitted:
            return replace(
                workload,
                admission=admitted[workload.key],
                reserved_at_ms=workload.reserved_at_ms if workload.admission else now_ms,
                preempting=False,
                unhealthy_nodes=(),
            )
        return replace(workload, evicted=workload.evicted or workload.key in leaving)

    remaining_workloads = (
        preemption for preemption in before.workloads if preemption.key not in plan.replaced
    )
    return replace(before, workloads=tuple(map(after, remaining_workloads)))


def left_to_do(of: core.Snapshot, rules: core.Rules, now_ms: int) -> list[str]:
    """Returns what a full round of cycles would still do, with no queue skipped, no workload parked, and no
    state of an earlier search."""
    state = WorkingState(of, rules)
    state.begin(now_ms)
    queues = [
        PendingQueue(queue, state.tree.queues[name])
        for name, queue in sorted(of.cluster_queues.items())
        if name not in state.inactive and queue.stop is core.StopPolicy.NONE
    ]
    by_name = {queue.queue.name: queue for queue in queues}
    for workload in of.workloads:
        own = by_name.get(workload.cluster_queue)
        if workload.admission is None and own is not None and not workload.is_backing_off(now_ms):
            own.put(workload)
    for pending in queues:
        pending.open()
    changes_left: list[str] = []
    for number in range(ROUNDS_MAX):
        heads = [
            Entry(head, queue.queue, queue.node, head.preempting)
            for queue in queues
            if (head := queue.head()) is not None
        ]
        Cycle(state, number, now_ms).run(heads)
        changes_left += _news(heads)
        moved = [by_name[head.queue.name].requeue_head(REQUEUE[head.outcome]) for head in heads]
        if changes_left or not any(moved):
            return changes_left
    return changes_left


def _news(heads: list[Entry]) -> Iterator[str]:
    for head in heads:
        if head.outcome is EntryOutcome.ADMITTED:
            yield f"admits {head.workload.key}"
        elif head.outcome is EntryOutcome.PREEMPTING:
            for target in head.targets:
                if not target.holding.evicted:
                    yield f"preempts {target.holding.workload.key} for {head.workload.key}"


def rounds(of: core.Snapshot, rules: core.Rules, now_ms: int) -> Iterator[tuple[str, Any, Any]]:
    """Yields a description, the incremental engine's answer and a fresh engine's, several in each round."""
    now = replace(of, workloads=())
    engine = core.Engine(now, rules)
    waiting: dict[str, core.Waiting] = {}
    coming = [*of.workloads, *_challengers(of)]
    for round_ in range(ROUNDS_MAX):
        arrived, coming = coming[: len(coming) // 2 + 1], coming[len(coming) // 2 + 1 :]
        for workload in arrived:
            engine.put(workload)
        now = _with_marks_of(engine, replace(now, workloads=(*now.workloads, *arrived)))
        fresh = core.Engine(now, rules)
        plan = engine.decide(now_ms)
        yield f"round {round_}", _changes(plan), _changes(fresh.decide(now_ms))
        _update_waits(waiting, engine, plan, now_ms)
        yield (
            f"waits of round {round_}",
            waiting,
            {workload.workload: workload for workload in fresh.waiting(now_ms)},
        )
        now = _with_marks_of(engine, carried_out(now, plan, now_ms))
        # a fresh engine reads it from the Workload's condition
        reported = {key for key, workload in waiting.items() if workload.reason is core.WaitReason.PREEMPTION}
        marked = {workload.key for workload in now.workloads if workload.preempting}
        yield f"workloads that wait for victims after round {round_}", marked, reported
        yield f"objects after round {round_}", _by_key(engine.snapshot), _by_key(now)
        now, remaining = _one_ends(now, now_ms)
        for workload in remaining:
            if workload.admission is None:
                engine.put(workload)
            else:
                engine.remove(workload.key)
        now_ms += STEP_MS
        waits = any(workload.is_backing_off(now_ms) for workload in now.workloads)
        if not (remaining or coming or waits or any(_changes(plan).values())):
            return


def _challengers(of: core.Snapshot) -> Iterator[core.Workload]:
    """Yields copies of the pending workloads, with a priority that can preempt all others."""
    for workload in of.workloads:
        if workload.admission is None and workload.replaces is None:
            yield replace(
                workload,
                key=f"{workload.key}-urgent",
                uid=f"{workload.uid}-urgent",
                priority=workload.priority + 10**6,
            )


def _with_marks_of(engine: core.Engine, now: core.Snapshot) -> core.Snapshot:
    """Returns `now` with the marks `parked` and `preempting`, which only the engine knows."""
    existing = _by_key(engine.snapshot)
    return replace(
        now,
        workloads=tuple(
            replace(
                workload, parked=existing[workload.key].parked, preempting=existing[workload.key].preempting
            )
            if workload.admission is None and workload.key in existing
            else workload
            for workload in now.workloads
        ),
    )


def _update_waits(
    waiting: dict[str, core.Waiting], engine: core.Engine, plan: core.Plan, now_ms: int
) -> None:
    """Keeps the last wait reason of each pending workload, as the controller does."""
    pending = {workload.key for workload in engine.snapshot.workloads if workload.admission is None}
    for key in waiting.keys() - pending:
        del waiting[key]
    due = [
        key
        for key, workload in waiting.items()
        if workload.until_ms is not None and workload.until_ms <= now_ms
    ]
    for workload in (*plan.waiting, *engine.waiting(now_ms, {*engine.affected(), *due})):
        waiting[workload.workload] = workload


def _one_ends(now: core.Snapshot, now_ms: int) -> tuple[core.Snapshot, list[core.Workload]]:
    """Requeues evicted workloads with a backoff longer than a round; if there are none, ends the first
    running workload. Returns the snapshot and the workloads that released quota."""
    again_ms = now_ms + STEP_MS + 1
    back = {
        workload.key: replace(workload, admission=None, evicted=False, requeue_at_ms=again_ms)
        for workload in now.workloads
        if _leaves(workload)
    }
    if back:
        workloads = tuple(back.get(workload.key, workload) for workload in now.workloads)
        return replace(now, workloads=workloads), list(back.values())
    ended = [workload for workload in now.workloads if workload.admission is not None][:1]
    return replace(
        now, workloads=tuple(workload for workload in now.workloads if workload not in ended)
    ), ended


def _leaves(workload: core.Workload) -> bool:
    return workload.evicted and workload.admission is not None


def _changes(plan: core.Plan) -> Mapping[str, object]:
    return {
        "admissions": sorted((planned.workload, repr(planned.admission)) for planned in plan.admissions),
        "preemptions": sorted(
            (planned.workload, planned.preemptor, planned.reason) for planned in plan.preemptions
        ),
        "drained": plan.drained,
        "replaced": sorted(plan.replaced),
        "displaced": sorted(plan.displaced),
    }


def _by_key(of: core.Snapshot) -> dict[str, core.Workload]:
    return {workload.key: workload for workload in of.workloads}
