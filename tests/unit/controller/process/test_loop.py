"""The controller's loop on an emulated API server: when it writes, and what it watches."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.controller.metrics.observer import CompletedPass, Observer
from muster.controller.pacing.rates import EXPLAINED_MAX, STATUS_INTERVAL_MS
from muster.controller.passes.explanations import AGAIN_INTERVAL_MS
from muster.controller.process.loop import (
    FOLLOW_UP_MS,
    PASS_INTERVAL_S_MAX,
    Controller,
    wall_clock_ms,
)
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.writes import MergePatch
from muster.objects.meta import rfc3339
from tests.simulation.api import Api, Body, Change
from tests.simulation.clock import VirtualLoop
from tests.simulation.kube import CALM, EmulatedKube
from tests.simulation.manifests import group, local_stack, quotas, ray_job, template
from tests.unit.controller.builders import condition, controlled_by, pod, workload_body

TOPOLOGY: Body = {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}


class Stage(Observer):
    """A controller alone with the API server: nothing else acts on the objects."""

    def __init__(self, *jobs: Body, election: Any = None, seed: int = 1) -> None:
        self.loop = VirtualLoop()
        self.api = Api(self.loop.now_ms)
        self.passes: list[CompletedPass] = []
        for kind, bodies in local_stack().items():
            for body in bodies:
                self.api.create(kind, body, "platform")
        for job in jobs:
            self.api.create(kinds.RAY_JOBS, job, "user")
        self.kube = EmulatedKube(self.api, Random(seed), CALM)
        self.controller = Controller(
            self.kube,
            self.loop.now_ms,
            election,
            observers=[self],
            clock_s=self.loop.time,
            random=Random(seed),
        )

    def passed(self, passed: CompletedPass) -> None:
        self.passes.append(passed)

    def play(self, story: Callable[[], Awaitable[None]]) -> None:
        """Runs the controller during the story, and until it has stopped."""

        async def whole() -> None:
            async with asyncio.timeout(3600), asyncio.TaskGroup() as tasks:
                tasks.create_task(self.controller.run())
                await story()
                self.controller.stop()

        try:
            self.loop.run_until_complete(whole())
        finally:
            self.loop.close()

    def written(self, kind: Kind[Any]) -> list[Change]:
        return [change for change in self.api.journal[kind] if change.by == "controller"]

    def wait_messages(self) -> Counter[str]:
        """Returns how often each Workload got a new wait message."""
        return Counter(
            change.body["metadata"]["name"]
            for change in self.written(kinds.WORKLOADS)
            if change.type == "MODIFIED"
        )


def too_large(many: int) -> list[Body]:
    return [ray_job(f"dev-{n:03}", workers=500) for n in range(many)]


def test_a_pass_writes_only_a_few_wait_messages() -> None:
    many = EXPLAINED_MAX + 10
    stage = Stage(*too_large(many))

    async def story() -> None:
        await asyncio.sleep(30)
        assert stage.wait_messages() == {
            change.body["metadata"]["name"]: 1 for change in stage.written(kinds.WORKLOADS)
        }
        assert len(stage.wait_messages()) == many

    stage.play(story)
    a_pass = [
        sum(
            isinstance(planned.write, MergePatch) and planned.write.kind is kinds.WORKLOADS
            for planned in passed.done
        )
        for passed in stage.passes
    ]
    assert max(a_pass) == EXPLAINED_MAX
    assert sum(a_pass) == many


def test_an_idle_controller_writes_nothing_and_passes_rarely() -> None:
    stage = Stage(*too_large(1))

    async def story() -> None:
        await asyncio.sleep(10)
        revision, passes = stage.api.revision, len(stage.passes)
        await asyncio.sleep(3 * PASS_INTERVAL_S_MAX)
        assert stage.api.revision == revision
        assert len(stage.passes) - passes in (3, 4)
        assert stage.controller.stalled_ms() <= PASS_INTERVAL_S_MAX * 1000

    stage.play(story)


def test_a_pass_follows_the_writes_of_workloads_at_once_and_others_soon() -> None:
    """A RayJob gets a Workload, which is admitted, and starts; nothing follows from its start."""
    stage = Stage(seed=0)  # with these latencies, no earlier change still waits for its pass at the start
    began_ms: list[tuple[int, set[str]]] = []

    async def story() -> None:
        await asyncio.sleep(10)
        created_ms, before = stage.loop.now_ms(), len(stage.passes)
        job = ray_job("dev")
        del job["spec"]["rayClusterSpec"]["workerGroupSpecs"]  # no check
        stage.api.create(kinds.RAY_JOBS, job, "user")
        await asyncio.sleep(0.4)
        for passed in stage.passes[before:]:
            kinds_written = {str(planned.write.kind) for planned in passed.done}
            began_ms.append((passed.now_ms - created_ms, kinds_written))

    stage.play(story)
    written = [(at_ms, of) for at_ms, of in began_ms if of]
    assert [of for _, of in written] == [{"Workload"}, {"Workload"}, {"RayJob"}]
    assert written[-1][0] < 250
    start_ms = written[-1][0]
    assert next(at_ms - start_ms for at_ms, _ in began_ms if at_ms > start_ms) == FOLLOW_UP_MS


def test_statuses_of_queues_are_written_at_their_interval_and_the_last_one_soon() -> None:
    stage = Stage()

    async def story() -> None:
        for number in range(10):
            stage.api.create(kinds.RAY_JOBS, ray_job(f"dev-{number}", workers=500), "user")
            await asyncio.sleep(0.25)
        await asyncio.sleep(1)
        (queue,) = (q for q in stage.api.all(kinds.CLUSTER_QUEUES) if q["metadata"]["name"] == "team-a")
        assert queue["status"]["pendingWorkloads"] == 10

    stage.play(story)
    times = sorted({change.time_ms for change in stage.written(kinds.CLUSTER_QUEUES)})
    apart = [then - now for now, then in pairwise(times) if then - now > 100]  # one look writes several
    assert len(apart) >= 3
    assert min(apart) >= STATUS_INTERVAL_MS - 100


def test_a_wait_message_with_new_numbers_is_written_once_an_interval() -> None:
    """The reason stays the same."""
    stage = Stage(ray_job("dev", workers=500))

    def quota(gpus: int) -> None:
        groups = [group(quotas("l4", cpu=16, memory="64Gi", gpu=gpus))]
        patch = {"spec": {"resourceGroups": groups}}
        stage.api.merge_patch(kinds.CLUSTER_QUEUES, "team-a", patch, "platform", False)

    async def story() -> None:
        await asyncio.sleep(1)
        for gpus in (5, 6, 7):
            quota(gpus)
            await asyncio.sleep(1)
        assert sum(stage.wait_messages().values()) == 1
        await asyncio.sleep(AGAIN_INTERVAL_MS / 1000)
        assert sum(stage.wait_messages().values()) == 2

    stage.play(story)


@pytest.mark.parametrize("topologies", [[], [TOPOLOGY]], ids=["without a Topology", "with one"])
def test_nodes_are_watched_once_a_topology_exists(topologies: list[Body]) -> None:
    stage = Stage()

    async def story() -> None:
        await asyncio.sleep(5)
        assert stage.controller.watch_ages_s().keys() == set(WATCHED.values())
        for body in topologies:
            stage.api.create(kinds.TOPOLOGIES, body, "platform")
        await asyncio.sleep(5)
        nodes = WATCHED_WITH_TOPOLOGIES.values() if topologies else ()
        expected = {*WATCHED.values(), *nodes}
        assert stage.controller.watch_ages_s().keys() == expected
        assert len(stage.passes[-1].cluster.topologies) == len(topologies)

    stage.play(story)


def test_it_is_synced_once_every_kind_is_listed() -> None:
    stage = Stage()
    assert not stage.controller.synced

    async def story() -> None:
        await asyncio.sleep(5)
        assert stage.controller.synced

    stage.play(story)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [(4, "pass: patch Workload status team-a/rayjob-dev-000-"), (5, "pass: 5 x MergePatch Workload")],
    ids=["few writes one by one", "many by their kind"],
)
def test_the_log_summarizes_a_pass(jobs: int, expected: str, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(*too_large(jobs))
    caplog.set_level(logging.INFO, logger="muster.controller.process.loop")

    async def story() -> None:
        await asyncio.sleep(2)

    stage.play(story)
    assert any(record.getMessage().startswith(expected) for record in caplog.records), caplog.messages


def test_the_wall_clock_counts_milliseconds_since_1970() -> None:
    assert abs(wall_clock_ms() - time.time() * 1000) < 1000


class Turn:
    """An election that the test lets it win."""

    def __init__(self, *, is_first: bool = False) -> None:
        self.won, self.is_leader, self.released = asyncio.Event(), False, False
        self.is_first = is_first
        self.last_try_s = 0.0

    async def acquire(self) -> None:
        await self.won.wait()
        self.is_leader = True

    async def renew(self) -> None:
        assert self.is_leader
        self.retained = True
        await asyncio.Event().wait()

    async def release(self) -> None:
        self.is_leader, self.released = False, True


def test_it_decides_nothing_before_it_leads_and_releases_the_lease() -> None:
    turn = Turn()
    stage = Stage(*too_large(1), election=turn)

    async def story() -> None:
        await asyncio.sleep(100)
        turn.last_try_s = 98.0
        assert stage.controller.synced
        assert stage.passes == []
        assert stage.controller.stalled_ms() == 2000, "it has tried to lead"
        turn.won.set()
        await asyncio.sleep(5)
        assert sum(stage.wait_messages().values()) == 1
        assert turn.retained
        turn.last_try_s = 0.0
        assert stage.controller.stalled_ms() < 60_000, "it decides, and does not retry"

    stage.play(story)
    assert turn.released


@pytest.mark.parametrize("is_first", [False, True])
def test_a_new_leader_lists_the_last_writes_of_the_former_one(is_first: bool) -> None:
    """The watch has not delivered them yet: the leader would reserve the same quota again. The very first
    leader does not list again, which may take a minute."""
    turn = Turn(is_first=is_first)
    stage = Stage(ray_job("dev"), election=turn)
    (dev,) = stage.api.all(kinds.RAY_JOBS)
    owner = controlled_by(kinds.RAY_JOBS, "dev", dev["metadata"]["uid"])
    admitted = workload_body(ray_job("dev"), "QuotaReserved", "Admitted", ownerReferences=[owner])

    async def story() -> None:
        await asyncio.sleep(5)
        stage.kube.silence()
        stage.api.create(kinds.WORKLOADS, admitted, "former")
        status = {"status": admitted["status"]}
        stage.api.merge_patch(kinds.WORKLOADS, "team-a/rayjob-dev-0b2fb", status, "former", True)
        turn.won.set()
        await asyncio.sleep(1)
        first = [str(planned.write) for planned in stage.passes[0].done]
        assert ("patch RayJob team-a/dev" in first) is not is_first

    stage.play(story)


def test_a_notice_without_a_status_is_an_event() -> None:
    dev = ray_job("dev", queue="")
    dev["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = ""
    stage = Stage(dev)

    async def story() -> None:
        await asyncio.sleep(5)

    stage.play(story)
    events = [
        (change.body["reason"], change.body["involvedObject"]["name"])
        for change in stage.written(kinds.EVENTS)
    ]
    assert events == [("Misconfigured", "dev")]


def test_it_measures_the_time_since_the_last_pass() -> None:
    """The probe reads this time."""
    stage = Stage()

    async def story() -> None:
        await asyncio.sleep(5)
        passed_s = stage.loop.time() - stage.controller.stalled_ms() / 1000
        await asyncio.sleep(30)
        assert stage.controller.stalled_ms() == round((stage.loop.time() - passed_s) * 1000)

    stage.play(story)


def test_only_pods_of_gangs_are_watched() -> None:
    """A cluster has many other pods."""
    stage = Stage()

    async def story() -> None:
        stage.api.create(kinds.PODS, pod("uid-gang", "of-a-gang"), "kuberay")
        other = pod("", "other")
        other["metadata"]["labels"] = {}
        stage.api.create(kinds.PODS, other, "another")
        await asyncio.sleep(5)
        assert list(stage.passes[-1].cluster.pods) == ["team-a/of-a-gang"]

    stage.play(story)


def test_it_wakes_up_when_time_alone_changes_the_result() -> None:
    """No event announces the end of a back-off."""
    stage = Stage(ray_job("dev"))
    (dev,) = stage.api.all(kinds.RAY_JOBS)
    owner = controlled_by(kinds.RAY_JOBS, "dev", dev["metadata"]["uid"])
    away = workload_body(ray_job("dev"), ownerReferences=[owner])
    requeued = condition("Requeued", False, "PodsReadyTimeout")
    key = "team-a/rayjob-dev-0b2fb"

    async def story() -> None:
        stage.api.create(kinds.WORKLOADS, away, "former")
        at = rfc3339(stage.loop.now_ms() + 20_000)
        status = {"conditions": [requeued], "requeueState": {"count": 1, "requeueAt": at}}
        stage.api.merge_patch(kinds.WORKLOADS, key, {"status": status}, "former", True)
        await asyncio.sleep(15)
        assert "QuotaReserved" not in true_of(key)
        await asyncio.sleep(10)
        assert "QuotaReserved" in true_of(key)

    def true_of(key: str) -> set[str]:
        (workloads,) = stage.api.all(kinds.WORKLOADS)
        return {c["type"] for c in workloads["status"]["conditions"] if c["status"] == "True"}

    stage.play(story)


def test_gangs_whose_pods_the_api_server_refuses_get_no_quota() -> None:
    """A dry run comes before the quota."""
    stage = Stage(ray_job("dev", worker=template("Bad_Name", cpu=1)))

    async def story() -> None:
        await asyncio.sleep(5)
        (workloads,) = stage.api.all(kinds.WORKLOADS)
        (condition,) = (c for c in workloads["status"]["conditions"] if c["type"] == "QuotaReserved")
        assert (condition["status"], condition["reason"]) == ("False", "Misconfigured")
        assert "Kubernetes would not create pods of pod set" in condition["message"]

    stage.play(story)
