"""The objects that the page shows after the API server has lost some of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.live.page.watching import Watching
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import Body
from tests.unit.live.builders import running
from tests.unit.live.page.memory_kube import MemoryKube

SECONDS_MAX = 10.0


class SlowKube(MemoryKube):
    """An API server that answers lists of Workloads only while it may."""

    def __init__(self, bodies: Mapping[Kind[Any], Sequence[Body]]) -> None:
        super().__init__(bodies)
        self.may_answer, self.is_asked = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def list(self, kind: Any, *arguments: Any, **options: Any) -> tuple[str, list[Any]]:
        if kind is kinds.WORKLOADS:
            self.is_asked.set()
            await self.may_answer.wait()
        return await super().list(kind, *arguments, **options)


def test_the_former_objects_are_shown_while_everything_is_listed_again() -> None:
    async def story() -> None:
        kube = SlowKube({**local_stack(), kinds.WORKLOADS: [running(ray_job("train"))]})
        changed = asyncio.Event()
        watching = Watching(kube, changed.set)
        task = asyncio.create_task(watching.run())
        await watching.synced()
        first = set(watching.cluster().workloads)
        kube.may_answer.clear()
        kube.is_asked.clear()
        kube.go_back()
        kube.put(kinds.WORKLOADS, running(ray_job("other")))
        async with asyncio.timeout(SECONDS_MAX):
            await kube.is_asked.wait()
            assert set(watching.cluster().workloads) == first
            kube.may_answer.set()
            await watching.synced()
        assert set(watching.cluster().workloads) == {other.key for other in kube.objects(kinds.WORKLOADS)}
        task.cancel()

    asyncio.run(story())


def test_objects_that_a_restored_etcd_lacks_disappear() -> None:
    kube = MemoryKube({**local_stack(), kinds.WORKLOADS: [running(ray_job("train"))]})
    changed = asyncio.Event()

    async def story() -> None:
        watching = Watching(kube, changed.set)
        task = asyncio.create_task(watching.run())
        await watching.synced()
        first = set(watching.cluster().workloads)
        kube.go_back()
        kube.put(kinds.WORKLOADS, running(ray_job("other")))
        shown = [set(watching.cluster().workloads)]
        async with asyncio.timeout(SECONDS_MAX):
            while shown[-1] == first:
                changed.clear()
                await changed.wait()
                shown.append(set(watching.cluster().workloads))
        assert shown[-1] == {workload.key for workload in kube.objects(kinds.WORKLOADS)}
        task.cancel()

    asyncio.run(story())
