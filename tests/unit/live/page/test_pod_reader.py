"""Readers of the page share lists of pods, and get an answer when pods cannot be listed."""

import asyncio
from typing import Any

from muster.kube import kinds
from muster.kube.errors import NoAnswer
from muster.live.gang_pods import NO_PODS, PodListing
from muster.live.page.pod_reader import LISTINGS_MAX, REUSED_S, PodReader
from muster.objects.kueue import Workload
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import read
from tests.unit.live.builders import running
from tests.unit.live.listing import Listing
from tests.unit.live.pods import READY, labelled, pod

ADMITTED = running(ray_job("train"))
POD = pod("w-1", READY, labels=labelled(ADMITTED["metadata"]["uid"]))


class Clock:
    """A time that tests set."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def reader(kube: Listing, clock: Clock) -> PodReader:
    def workload(key: str) -> Workload | None:
        return None if key == "team-a/none" else read(kinds.WORKLOADS, ADMITTED)

    return PodReader(kube, workload, clock)


def test_lists_are_shared_for_a_while() -> None:
    async def story() -> None:
        kube, clock = Listing({kinds.DETAILED_PODS: [POD]}), Clock()
        pods = reader(kube, clock)
        first, second = await asyncio.gather(pods.of("team-a/train"), pods.of("team-a/train"))
        assert first is second
        assert first.pods is not None
        assert [listed.metadata.name for listed in first.pods] == ["w-1"]
        clock.now_s = REUSED_S - 1
        await pods.of("team-a/train")
        assert len(kube.listed) == 1
        clock.now_s = REUSED_S
        await pods.of("team-a/train")
        assert len(kube.listed) == 2

    asyncio.run(story())


def test_few_lists_are_remembered() -> None:
    async def story() -> None:
        kube = Listing({kinds.DETAILED_PODS: [POD]})
        pods = reader(kube, Clock())
        keys = [f"team-a/train-{n}" for n in range(LISTINGS_MAX + 1)]
        for key in (*keys, keys[-1], keys[1]):
            await pods.of(key)
        assert len(kube.listed) == len(keys)
        await pods.of(keys[0])
        assert len(kube.listed) == len(keys) + 1

    asyncio.run(story())


def test_workload_that_does_not_exist_has_no_pods() -> None:
    kube = Listing({kinds.DETAILED_PODS: [POD]})
    assert asyncio.run(reader(kube, Clock()).of("team-a/none")) == NO_PODS
    assert kube.listed == []


class Unreachable(Listing):
    """An API server that does not answer."""

    async def list(self, *_arguments: Any, **_options: Any) -> Any:
        raise NoAnswer("connection refused")


def test_api_server_without_an_answer_is_a_reason() -> None:
    listing = asyncio.run(reader(Unreachable({}), Clock()).of("team-a/train"))
    assert listing == PodListing(None, "connection refused")
