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
from muster.admission.queueing.backoff import is_backing_off
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
    """Returns the workloads with quota, and the incoming one that preempts."""
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
        one.key == key and one.admission is not None and not one.unhealthy_nodes and needs_second_pass(one)
        for one in of.workloads
    )


def _leaves_no_choice(case: Case, of: core.Snapshot) -> bool:
    """Returns whether the workload can only get the flavors that the case gives it."""
    given = {
        (resource, flavor["name"])
        for pod_set in (case.input.get("assignment") or {}).get("podSets") or ()
        for resource, flavor in pod_set["flavors"].items()
    }
    if not given:
        return True
    queue = of.cluster_queues[case.input["targetClusterQueue"]]
    named = {(r, quotas.flavor) for g in queue.groups for r in g.covered for quotas in g.flavors}
    return given == {column for column in named if column[0] in dict(given)}


def _compare_with_kueue(of: core.Snapshot, plan: core.Plan, expect: Data) -> None:
    """Checks that the plan contains Kueue's decisions on workloads without quota; it may contain more."""
    summary = expect.get("summary") or expect.get("summaryAfterFirstCycle") or {}
    reserved = summary.get("newlyQuotaReserved") or {
        key: of for key, of in (expect.get("admissions") or {}).items() if of.get("new")
    }
    found = {one.workload: neutral(one.admission) for one in plan.admissions}
    pending = {one.key for one in of.workloads if one.admission is None}
    placed = {one.workload: with_places(one.admission) for one in plan.admissions}
    for key, wanted in expected_admissions(expect.get("admissions")).items():
        if _is_to_be_placed(of, key):
            compare(f"places of {key}", placed.get(key), wanted)
    for key in pending & reserved.keys():
        compare(f"admission of {key}", found.get(key), neutral_of(reserved[key]))
    victims = {(one.workload, str(one.reason)) for one in plan.preemptions}
    preempted = {(one["workload"].removeprefix("/"), one["reason"]) for one in summary.get("preempted") or ()}
    compare("missing preemptions", preempted - victims, set())


def carried_out(before: core.Snapshot, plan: core.Plan, now_ms: int) -> core.Snapshot:
    """Returns the objects after the controller has written the plan; victims still hold their quota."""
    admitted = {decision.workload: decision.admission for decision in plan.admissions}
    leaving = {*(one.workload for one in plan.preemptions), *plan.drained, *plan.displaced}

    def after(one: core.Workload) -> core.Workload:
        if one.key in admitted:
            return replace(
                one,
                admission=admitted[one.key],
                reserved_at_ms=one.reserved_at_ms if one.admission else now_ms,
                preempting=False,
                unhealthy_nodes=(),
            )
        return replace(one, evicted=one.evicted or one.key in leaving)

    kept = (one for one in before.workloads if one.key not in plan.replaced)
    return replace(before, workloads=tuple(map(after, kept)))


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
        if workload.admission is None and own is not None and not is_backing_off(workload, now_ms):
            own.put(workload)
    for pending in queues:
        pending.open()
    found: list[str] = []
    for number in range(ROUNDS_MAX):
        heads = [
            Entry(head, queue.queue, queue.node, head.preempting)
            for queue in queues
            if (head := queue.head()) is not None
        ]
        Cycle(state, number, now_ms).run(heads)
        found += _news(heads)
        moved = [by_name[head.queue.name].requeue_head(REQUEUE[head.outcome]) for head in heads]
        if found or not any(moved):
            return found
    return found


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
        for one in arrived:
            engine.put(one)
        now = _with_marks_of(engine, replace(now, workloads=(*now.workloads, *arrived)))
        fresh = core.Engine(now, rules)
        plan = engine.decide(now_ms)
        yield f"round {round_}", _changes(plan), _changes(fresh.decide(now_ms))
        _update_waits(waiting, engine, plan, now_ms)
        yield f"waits of round {round_}", waiting, {one.workload: one for one in fresh.waiting(now_ms)}
        now = _with_marks_of(engine, carried_out(now, plan, now_ms))
        # a fresh engine reads it from the Workload's condition
        told = {key for key, one in waiting.items() if one.reason is core.WaitReason.PREEMPTION}
        marked = {one.key for one in now.workloads if one.preempting}
        yield f"workloads that wait for victims after round {round_}", marked, told
        yield f"objects after round {round_}", _by_key(engine.snapshot), _by_key(now)
        now, left = _one_ends(now, now_ms)
        for one in left:
            if one.admission is None:
                engine.put(one)
            else:
                engine.remove(one.key)
        now_ms += STEP_MS
        waits = any(is_backing_off(one, now_ms) for one in now.workloads)
        if not (left or coming or waits or any(_changes(plan).values())):
            return


def _challengers(of: core.Snapshot) -> Iterator[core.Workload]:
    """Yields copies of the pending workloads, with a priority that can preempt all others."""
    for one in of.workloads:
        if one.admission is None and one.replaces is None:
            yield replace(
                one, key=f"{one.key}-urgent", uid=f"{one.uid}-urgent", priority=one.priority + 10**6
            )


def _with_marks_of(engine: core.Engine, now: core.Snapshot) -> core.Snapshot:
    """Returns `now` with the marks `parked` and `preempting`, which only the engine knows."""
    known = _by_key(engine.snapshot)
    return replace(
        now,
        workloads=tuple(
            replace(one, parked=known[one.key].parked, preempting=known[one.key].preempting)
            if one.admission is None and one.key in known
            else one
            for one in now.workloads
        ),
    )


def _update_waits(
    waiting: dict[str, core.Waiting], engine: core.Engine, plan: core.Plan, now_ms: int
) -> None:
    """Keeps the last wait reason of each pending workload, as the controller does."""
    pending = {one.key for one in engine.snapshot.workloads if one.admission is None}
    for key in waiting.keys() - pending:
        del waiting[key]
    due = [key for key, one in waiting.items() if one.until_ms is not None and one.until_ms <= now_ms]
    for one in (*plan.waiting, *engine.waiting(now_ms, {*engine.affected(), *due})):
        waiting[one.workload] = one


def _one_ends(now: core.Snapshot, now_ms: int) -> tuple[core.Snapshot, list[core.Workload]]:
    """Requeues evicted workloads with a backoff longer than a round; if there are none, ends the first
    running workload. Returns the snapshot and the workloads that released quota."""
    again_ms = now_ms + STEP_MS + 1
    back = {
        one.key: replace(one, admission=None, evicted=False, requeue_at_ms=again_ms)
        for one in now.workloads
        if _leaves(one)
    }
    if back:
        workloads = tuple(back.get(one.key, one) for one in now.workloads)
        return replace(now, workloads=workloads), list(back.values())
    ended = [one for one in now.workloads if one.admission is not None][:1]
    return replace(now, workloads=tuple(one for one in now.workloads if one not in ended)), ended


def _leaves(one: core.Workload) -> bool:
    return one.evicted and one.admission is not None


def _changes(plan: core.Plan) -> Mapping[str, object]:
    return {
        "admissions": sorted((one.workload, repr(one.admission)) for one in plan.admissions),
        "preemptions": sorted((one.workload, one.preemptor, one.reason) for one in plan.preemptions),
        "drained": plan.drained,
        "replaced": sorted(plan.replaced),
        "displaced": sorted(plan.displaced),
    }


def _by_key(of: core.Snapshot) -> dict[str, core.Workload]:
    return {one.key: one for one in of.workloads}
