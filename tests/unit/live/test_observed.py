"""The objects of a cluster that decisions read."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.errors import Status, StatusError
from muster.kube.kinds import Kind
from muster.live.observed import (
    QUEUE_KINDS,
    READ,
    RETRIES_MAX,
    ObservationError,
    Observed,
    from_manifests,
    observed,
)
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import Body, stored, workload_body
from tests.unit.controller.queued_gangs import growth
from tests.unit.live.elastic import running_elastic
from tests.unit.live.listing import Listing, T

TOPOLOGY = {"metadata": {"name": "racks"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}


def observe(kube: Listing) -> Observed:
    return asyncio.run(observed(kube))


def test_objects_of_a_cluster_are_listed() -> None:
    kube = Listing({**local_stack(), kinds.WORKLOADS: [workload_body(ray_job("dev"))]})
    observed_objects = observe(kube)
    assert sorted(observed_objects.cluster.cluster_queues) == ["team-a", "team-b"]
    assert [key.partition("-")[0] for key in observed_objects.cluster.workloads] == ["team"]
    assert not observed_objects.unread


def test_only_what_decisions_read_is_listed() -> None:
    kube = Listing(local_stack())
    observe(kube)
    assert not {"Pod", "Node", "RayJob", "Secret", "PodTemplate"} & set(kube.listed)


def test_nodes_are_listed_for_topologies() -> None:
    kube = Listing({**local_stack(), kinds.TOPOLOGIES: [TOPOLOGY]})
    observe(kube)
    assert {"Pod", "Node"} <= set(kube.listed)


SCALED = running_elastic()


@pytest.mark.parametrize(
    ("workload", "objects", "listed"),
    [
        pytest.param(workload_body(ray_job("dev")), {}, set(), id="a fixed size"),
        pytest.param(SCALED, {kinds.PROVISIONING_CONFIGS: []}, set(), id="no queued pools"),
        pytest.param(SCALED, {}, {"ProvisioningRequest"}, id="it does not grow"),
        pytest.param(
            SCALED,
            {kinds.PROVISIONING_REQUESTS: [growth("Accepted")]},
            {"ProvisioningRequest", "Pod"},
            id="it waits for nodes",
        ),
    ],
)
def test_nodes_of_growth_are_listed(
    workload: Body, objects: dict[Kind[Any], list[Body]], listed: set[str]
) -> None:
    kube = Listing({**local_stack(), kinds.WORKLOADS: [workload], **objects})
    observe(kube)
    assert {"Pod", "ProvisioningRequest"} & set(kube.listed) == listed


def test_kinds_that_can_not_be_listed_are_named() -> None:
    observed_objects = observe(Listing(local_stack(), Namespace=403, Topology=404))
    assert observed_objects.unread == {
        "Namespace": "you may not list namespaces",
        "Topology": "the API server does not serve this kind",
    }


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        (
            "Workload",
            403,
            "Workload (kueue.x-k8s.io/v1beta2): you may not list workloads.kueue.x-k8s.io in all namespaces",
        ),
        ("ClusterQueue", 404, "ClusterQueue (kueue.x-k8s.io/v1beta2): the API server does not serve"),
    ],
)
def test_kinds_that_every_decision_needs(kind: str, code: int, message: str) -> None:
    with pytest.raises(ObservationError) as raised:
        observe(Listing(local_stack(), **{kind: code}))
    assert message in str(raised.value)


def test_all_kinds_that_lack_a_right_are_named_at_once() -> None:
    with pytest.raises(ObservationError) as raised:
        observe(Listing(local_stack(), Workload=403, ClusterQueue=403))
    named = [part.rpartition("you may not list ")[2] for part in str(raised.value).split("; ")]
    assert named == ["clusterqueues.kueue.x-k8s.io", "workloads.kueue.x-k8s.io in all namespaces"]


def test_other_errors_of_the_api_server_are_raised() -> None:
    with pytest.raises(StatusError):
        observe(Listing(local_stack(), Namespace=500))


class Busy(Listing):
    """Asks to come back in seven seconds, this many times for each kind."""

    def __init__(self, times: int) -> None:
        super().__init__(local_stack())
        self._times = times

    async def list(
        self, kind: Kind[T], labels: Mapping[str, str | None] | None = None, namespace: str = ""
    ) -> tuple[str, list[T]]:
        if self.listed.count(str(kind)) < self._times:
            self.listed.append(str(kind))
            raise StatusError(Status(code=429, message="storage is (re)initializing"), 7)
        return await super().list(kind, labels, namespace)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of all sleeps, which take no time."""
    seconds: list[float] = []

    async def sleep(of: float) -> None:
        seconds.append(of)

    monkeypatch.setattr("asyncio.sleep", sleep)
    return seconds


def test_an_api_server_that_is_busy_is_asked_again(slept: list[float]) -> None:
    observed_objects = observe(Busy(2))
    assert sorted(observed_objects.cluster.cluster_queues) == ["team-a", "team-b"]
    assert not observed_objects.unread
    assert slept == [7] * (2 * len(READ))


def test_an_api_server_that_stays_busy_is_an_error(slept: list[float]) -> None:
    with pytest.raises(StatusError, match=r"storage is \(re\)initializing"):
        observe(Busy(RETRIES_MAX + 1))


def manifest(kind: Kind[Any], body: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


def test_manifests_give_the_same_cluster() -> None:
    stack = local_stack()
    written = from_manifests(manifest(kind, stored(b)) for kind, bodies in stack.items() for b in bodies)
    listed = observe(Listing(stack)).cluster
    for kind in QUEUE_KINDS:
        assert written.objects(kind) == listed.objects(kind)


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no ClusterQueue": ([], "no ClusterQueue (kueue.x-k8s.io/v1beta2); expected at least one"),
    "no name": ([manifest(kinds.FLAVORS, {"spec": {}})], "ResourceFlavor without metadata.name"),
    "a wrong type": (
        [manifest(kinds.COHORTS, {"metadata": {"name": "c"}, "spec": {"parentName": 3}})],
        "Cohort c: Expected `str`, got `int`",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_manifests_that_can_not_be_read(name: str) -> None:
    manifests, message = BAD[name]
    with pytest.raises(ObservationError) as raised:
        from_manifests(manifests)
    assert message in str(raised.value)
