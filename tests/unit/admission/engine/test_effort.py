"""After a change the engine asks only queues that it can concern, and tries only feasible heads."""

from collections.abc import Callable

import pytest

from muster.admission import Cohort, Engine, PreemptionPolicy, Quota, Snapshot, Workload
from muster.admission.pruning.protocol import Estimate
from tests.unit.admission.builders import pods, queue, running, snapshot, workload
from tests.unit.admission.engine.counting import Effort

NEVER, ANY = PreemptionPolicy.NEVER, PreemptionPolicy.ANY
LIMITS = {"alone": 0, "also": 0, "two": 2, "all": None}  # what each queue may borrow


def crowd(reclaim: PreemptionPolicy) -> Snapshot:
    """A cohort all of whose quota is used, by one workload a queue; two more wait in each."""
    return snapshot(
        [
            queue(name, Quota(2, borrowing_limit=limit), cohort="ml", reclaim_within_cohort=reclaim)
            for name, limit in LIMITS.items()
        ],
        *(running(f"{name}-runs", name, 2) for name in LIMITS),
        *(workload(f"{name}-{n}", name, 2, queued_at_ms=n) for name in LIMITS for n in (1, 2)),
        cohorts=[Cohort("ml")],
    )


def put(of: Workload) -> Callable[[Engine], None]:
    return lambda engine: engine.put(of)


def end(name: str) -> Callable[[Engine], None]:
    return lambda engine: engine.remove(f"ns/{name}")


NOTHING: tuple[list[str], set[str], list[str]] = ([], set(), [])
EFFORTS: dict[
    str, tuple[PreemptionPolicy, Callable[[Engine], None], tuple[list[str], set[str], list[str]]]
] = {
    "nothing happens": (NEVER, lambda _: None, NOTHING),
    "a workload arrives": (NEVER, put(workload("more", "alone", 1)), ([], {"alone"}, [])),
    "a pending workload ends": (NEVER, end("also-1"), ([], {"also"}, [])),
    "a queue's own quota is free": (
        ANY,
        end("alone-runs"),
        (["alone-1"], {"alone", "two", "all"}, ["alone-1"]),
    ),
    "quota that one may borrow is free": (ANY, end("all-runs"), (["all-1"], {"two", "all"}, ["all-1"])),
    "heads that find no victims keep quota": (
        NEVER,
        end("all-runs"),
        (["all-1"], {"two", "all"}, ["alone-1", "also-1", "two-1", "all-1"]),
    ),
}


@pytest.mark.parametrize("name", EFFORTS)
def test_only_queues_that_a_change_concerns_are_tried(name: str) -> None:
    reclaim, change, expected = EFFORTS[name]
    effort = Effort(crowd(reclaim))
    assert effort.decision() == ([], set(LIMITS), [])
    change(effort.engine)
    let_in, asked, tried = effort.decision()
    assert (let_in, asked, sorted(tried)) == (*expected[:2], sorted(expected[2]))
    assert effort.decision() == NOTHING


def test_only_queues_with_limits_go_by_what_they_use_themselves() -> None:
    """Else the room of the cohort decides: it was full before and is full again."""
    unlimited, limited = (
        queue(name, Quota(2, borrowing_limit=limit), cohort="ml")
        for name, limit in (("all", None), ("two", 2))
    )
    runs = [running(f"{name}-runs", name, 2) for name in ("all", "two")]
    waiting = [workload(f"{name}-waits", name, 3, queued_at_ms=2) for name in ("all", "two")]
    effort = Effort(snapshot([unlimited, limited], *runs, *waiting, cohorts=[Cohort("ml")]))
    effort.decision()
    for name in ("all", "two"):
        effort.engine.remove(f"ns/{name}-runs")
        effort.engine.put(running(f"{name}-runs-again", name, 2))
    assert effort.decision() == ([], {"two"}, [])


def test_workload_with_room_to_the_last_unit_is_known_to_fit() -> None:
    """It need not be compared with workloads that preempt."""
    effort = Effort(snapshot(queue("q", 2), workload("w", "q", 2)))
    effort.decision()
    assert effort.estimates[0] is Estimate.FITS


def test_equivalent_workloads_get_the_assignment_of_the_first() -> None:
    alike = (workload(f"w{n}", "q", 1, queued_at_ms=n) for n in range(6))
    effort = Effort(snapshot(queue("q", 4), *alike))
    assert effort.decision() == (["w0", "w1", "w2", "w3"], {"q"}, ["w0"])


def test_equivalent_workloads_with_several_pod_sets_get_it_too() -> None:
    sets = pods("head", gpu=1), pods("workers", gpu=1)
    alike = (workload(f"w{n}", "q", *sets, queued_at_ms=n) for n in range(4))
    effort = Effort(snapshot(queue("q", 4), *alike))
    assert effort.decision() == (["w0", "w1"], {"q"}, ["w0"])


def test_pod_sets_that_do_not_fit_together_are_not_tried() -> None:
    """Though each of them would fit alone."""
    of = snapshot(
        queue("q", 4), running("r", gpu=2), workload("w", "q", pods("head", gpu=2), pods("workers", gpu=1))
    )
    assert Effort(of).decision() == ([], {"q"}, [])
