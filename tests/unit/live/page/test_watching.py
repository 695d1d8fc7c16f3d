"""The objects that the page shows after the API server has lost some of them."""

import asyncio

from muster.kube import kinds
from muster.live.page.watching import Watching
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.live.builders import running
from tests.unit.live.page.memory_kube import MemoryKube

SECONDS_MAX = 10.0


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
