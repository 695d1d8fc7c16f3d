"""Random histories: the invariants hold, whatever users, administrators and the network do.

tools/testing/effort.py sets their number; `make fuzz` plays any, and shrinks failing ones.
"""

import gc
import inspect
import math
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest

from muster.kube import kinds
from tests.simulation.api import Api, Body, key_of
from tests.simulation.histories import history as histories
from tests.simulation.histories.generate import ACTIONS, FAMILIES, generate
from tests.simulation.histories.history import Action, History
from tests.simulation.histories.minimise import ddmin, minimise
from tests.simulation.histories.play import Failure, make, play
from tests.simulation.histories.runner import FOLDER, GARBAGE_MAX
from tests.simulation.histories.stacks import CONFIGURATIONS
from tests.simulation.invariants import SETTLED_MS, Broken, Invariants
from tests.simulation.manifests import GPU, NO_BORROWING, cluster_queue, group, local_stack, quotas, stack
from tests.simulation.simulation import Simulation
from tools.testing.effort import HISTORIES

BATCH = 10
KEPT = sorted(Path(__file__).with_name("kept").glob("*.json"))


@pytest.fixture
def _few_collections():  # type: ignore[no-untyped-def]
    """Reduces garbage collection: a history creates many objects, and most collections find them alive."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_MAX)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_few_collections")
@pytest.mark.parametrize("first", range(0, HISTORIES, BATCH))
def test_histories_keep_the_invariants(first: int) -> None:
    for seed in range(first, min(first + BATCH, HISTORIES)):
        history = generate(seed)
        failure = play(history)
        if failure is not None:
            path = FOLDER / f"{seed}.json"
            histories.write(history, path)
            shorten = f"shorten it: make fuzz HISTORIES=1 SEED={seed}, replay it: make fuzz REPLAY={path}"
            pytest.fail(f"seed {seed}: {failure.rule}: {failure.message}\n{shorten}")


@pytest.mark.thorough
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_histories_keep_the_invariants(path: Path) -> None:
    failure = play(histories.read(path))
    assert failure is None, f"{failure.rule}: {failure.message}"


def test_a_history_replays_identically(tmp_path: Path) -> None:
    """The same history again, also from a file, has the same result."""
    history = generate(7)
    histories.write(history, tmp_path / "history.json")
    written = histories.read(tmp_path / "history.json")
    assert written == history
    first, second = make(history), make(written)
    assert play(history, first) is play(written, second) is None
    assert happened(first) == happened(second)


def happened(sim: Simulation) -> list[tuple[int, int, str]]:
    changes = (c for journal in sim.api.journal.values() for c in journal)
    return sorted((c.revision, c.time_ms, key_of(c.body)) for c in changes)


def test_quota_checked_at_reservations_holds_after_every_write() -> None:
    """Valid as long as the queues do not change."""
    history = generate(3, set(ACTIONS) - set(FAMILIES["tenants"][1]))
    sim = make(history)
    retention = CONFIGURATIONS[history.stack].retention
    sim.invariants = Invariants(sim.api, sim.heard, retention, always=True)
    assert play(history, sim) is None


@pytest.mark.parametrize("always", [False, True])
def test_exceeded_quota_is_found(always: bool) -> None:
    api = Api(lambda: 0)
    for kind, bodies in local_stack().items():
        for body in bodies:
            api.create(kind, body, "platform")
    api.watchers.append(Invariants(api, always=always).check)
    reserve(api, "first", gpus=4)
    with pytest.raises(Broken, match="uses 5") as broken:
        reserve(api, "second", gpus=1)
    assert broken.value.rule == "quota is kept"


HEARD_AFTER_MS = pytest.mark.parametrize(
    ("heard_after_ms", "wrong"),
    [
        pytest.param(0, True, id="heard of it"),
        pytest.param(4_000, False, id="received the change when it may have decided"),
        pytest.param(60_000, False, id="not heard of it yet"),
    ],
)


@HEARD_AFTER_MS
def test_quota_is_checked_by_the_queues_that_the_controller_knew(heard_after_ms: int, wrong: bool) -> None:
    """An administrator lowers a quota a few seconds before the controller assigns it."""
    now_ms = 0
    api = Api(lambda: now_ms)
    for kind, bodies in local_stack().items():
        for body in bodies:
            api.create(kind, body, "platform")
    before = api.revision
    invariants = Invariants(api, lambda kind, until_ms: math.inf if until_ms >= heard_after_ms else before)
    api.watchers.append(invariants.check)
    groups = [group(quotas("l4", gpu={**NO_BORROWING, "nominalQuota": "2"}))]
    api.merge_patch(
        kinds.CLUSTER_QUEUES, "team-a", {"spec": {"resourceGroups": groups}}, "administrator", False
    )
    now_ms = SETTLED_MS + 3_000
    with pytest.raises(Broken, match="team-a uses 3 of 2") if wrong else nullcontext():
        reserve(api, "first", gpus=3)
    with pytest.raises(Broken, match="uses"):
        reserve(api, "second", gpus=2)


@HEARD_AFTER_MS
def test_preemptions_are_checked_by_the_classes_that_the_controller_knew(
    heard_after_ms: int, wrong: bool
) -> None:
    """An administrator lowers the value of the preemptor's class a few seconds before the preemption."""
    now_ms = 0
    api = Api(lambda: now_ms)
    for kind, bodies in local_stack().items():
        for body in bodies:
            api.create(kind, body, "platform")
    before = api.revision
    invariants = Invariants(api, lambda kind, until_ms: math.inf if until_ms >= heard_after_ms else before)
    api.watchers.append(invariants.check)
    api.merge_patch(kinds.PRIORITIES, "prod-priority", {"value": 0}, "administrator", False)
    now_ms = SETTLED_MS + 3_000
    preemptor = of_class(api, "preemptor", "prod-priority")
    with pytest.raises(Broken, match="ahead by -100") if wrong else nullcontext():
        preempt(api, of_class(api, "victim", "dev-priority"), preemptor)
    with pytest.raises(Broken, match="ahead by 0"):
        preempt(api, of_class(api, "equal", "prod-priority"), preemptor)


def of_class(api: Api, name: str, priority_class: str) -> Body:
    meta = {"namespace": "team-a", "name": name, "ownerReferences": [{"uid": f"job-{name}"}]}
    spec = {"queueName": "user-queue", "priority": 0, "priorityClassRef": {"name": priority_class}}
    return api.create(kinds.WORKLOADS, {"metadata": meta, "spec": spec}, "controller")


def preempt(api: Api, victim: Body, preemptor: Body) -> None:
    """Writes the preemption as the controller does, but without comparing priorities."""
    message = f"Preempted (UID: {preemptor['metadata']['uid']})"
    preempted = {"type": "Preempted", "status": "True", "reason": "InClusterQueue", "message": message}
    api.merge_patch(
        kinds.WORKLOADS, key_of(victim), {"status": {"conditions": [preempted]}}, "controller", True
    )


@pytest.mark.parametrize(
    ("gpus", "wrong"),
    [pytest.param(5, True, id="grows"), pytest.param(3, False, id="shrinks")],
)
def test_only_growth_needs_quota(gpus: int, wrong: bool) -> None:
    """An administrator lowers the quota below what a gang holds, which then changes its size."""
    api = Api(lambda: 0)
    for kind, bodies in local_stack().items():
        for body in bodies:
            api.create(kind, body, "platform")
    reserve(api, "elastic", gpus=4)
    invariants = Invariants(api)
    api.watchers.append(invariants.check)
    groups = [group(quotas("l4", gpu={**NO_BORROWING, "nominalQuota": "2"}))]
    api.merge_patch(kinds.CLUSTER_QUEUES, "team-a", {"spec": {"resourceGroups": groups}}, "admin", False)
    with pytest.raises(Broken, match=f"uses {gpus}") if wrong else nullcontext():
        api.merge_patch(kinds.WORKLOADS, "team-a/elastic", {"status": holding(gpus)}, "controller", True)


@pytest.mark.parametrize(
    ("gpus", "wrong"),
    [
        pytest.param(2, None, id="what its queue does not lend"),
        pytest.param(3, "ml uses 4 of 2", id="more than that, which the cohort lacks"),
        pytest.param(5, "team-a uses 5 of 4", id="more than its queue may use"),
    ],
)
def test_only_raised_usage_needs_quota(gpus: int, wrong: str | None) -> None:
    """An administrator takes the quota of a queue whose gang then uses what another queue lends, and more."""
    api = Api(lambda: 0)
    lends = quotas("l4", gpu={"nominalQuota": "4", "lendingLimit": "2", "borrowingLimit": "0"})
    borrows = cluster_queue("team-b", quotas("l4", gpu=3))
    for kind, bodies in stack(cluster_queue("team-a", lends), borrows).items():
        for body in bodies:
            api.create(kind, body, "platform")
    reserve(api, "borrows", gpus=3, queue="team-b")
    api.watchers.append(Invariants(api).check)
    groups = [group(quotas("l4", gpu=0))]
    api.merge_patch(kinds.CLUSTER_QUEUES, "team-b", {"spec": {"resourceGroups": groups}}, "admin", False)
    with pytest.raises(Broken, match=wrong) if wrong else nullcontext():
        reserve(api, "lends", gpus=gpus)


def reserve(api: Api, name: str, gpus: int, queue: str = "team-a") -> None:
    """Assigns quota as the controller does, but without checking that it is free."""
    owner = {"uid": f"job-{name}", "controller": True}
    meta = {"namespace": queue, "name": name, "ownerReferences": [owner]}
    api.create(kinds.WORKLOADS, {"metadata": meta, "spec": {"queueName": "user-queue"}}, "controller")
    api.merge_patch(kinds.WORKLOADS, f"{queue}/{name}", {"status": holding(gpus, queue)}, "controller", True)


def holding(gpus: int, queue: str = "team-a") -> Body:
    """Returns the status of a Workload with this quota."""
    usage = {"flavors": {GPU: "l4"}, "resourceUsage": {GPU: str(gpus)}, "name": "gpu", "count": gpus}
    return {
        "conditions": [{"type": "QuotaReserved", "status": "True"}],
        "admission": {"clusterQueue": queue, "podSetAssignments": [usage]},
    }


def test_every_action_is_drawn() -> None:
    drawn = {action.do for seed in range(400) for action in generate(seed).actions}
    assert drawn == set(ACTIONS)


def test_every_action_takes_the_arguments_that_it_draws() -> None:
    for seed in range(400):
        for action in generate(seed).actions:
            inspect.signature(ACTIONS[action.do].do).bind(None, **action.arguments)


@pytest.mark.parametrize("seed", range(5))
def test_shortening_keeps_only_items_that_fail_together(seed: int) -> None:
    """Thirty items are reduced to the ones that fail together, in order."""
    random = Random(seed)
    culprits = sorted(random.sample(range(30), random.randint(1, 5)))
    assert ddmin(range(30), lambda items: set(culprits) <= set(items)) == culprits or culprits == [0]


def test_a_shortened_history_breaks_the_same_rule() -> None:
    actions = tuple(Action(1.25, name) for name in ("a", "b", "c", "d"))
    history = History(1, "local", "rough", actions, replicas=2)

    def breaks(candidate: History) -> Failure | None:
        names = [a.do for a in candidate.actions]
        if "d" in names and candidate.replicas == 2:
            return Failure("quota", "too much")
        return Failure("other", "something else")

    short = minimise(history, "quota", breaks)
    assert [(a.do, a.after_s) for a in short.actions] == [("d", 1.0)]
    assert (short.faults, short.replicas) == ("calm", 2)
