"""The queued-provisioning stand-in with an in-memory API server: all nodes or none, even if killed."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from lightkube.core.exceptions import ApiError
from lightkube.models import meta_v1

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, condition, is_true, key
from sandbox.stand_ins.capacity import NodeShape
from sandbox.stand_ins.provisioner import Provisioner
from sandbox.stand_ins.resize import merged_conditions

SHAPE = NodeShape(
    "l4", {"cloud.google.com/gke-nodepool": "l4"}, (), {"cpu": "4", "nvidia.com/gpu": "1", "pods": "9"}, 10
)
SYSTEM_NODE = {"metadata": {"name": "system", "labels": {"cloud.google.com/gke-nodepool": "system"}}}


class Cluster:
    """The API calls of the provisioner, on dictionaries; tests make new nodes Ready."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[tuple[str, str], Object]] = {"Node": {}, "Pod": {}, "ConfigMap": {}}
        self.objects |= {"ProvisioningRequest": {}, "PodTemplate": {}}
        self.put("Node", SYSTEM_NODE)
        self.creations_left = 1000
        self.zone()

    def put(self, kind: str, obj: Object) -> None:
        self.objects[kind][key(obj)] = obj

    def list(
        self, kind: Any, *, namespace: str = "", fields: dict[str, str] | None = None
    ) -> Sequence[Object]:
        on_node = (fields or {}).get("spec.nodeName")
        objects = self.objects[kind.__name__].values()
        return [o for o in objects if on_node is None or o["spec"]["nodeName"] == on_node]

    def get(self, kind: Any, name: str, *, namespace: str = "") -> Object:
        stored = self.objects[kind.__name__].get((namespace, name))
        if stored is None:
            raise ApiError(status=meta_v1.Status(code=404, reason="NotFound"))
        return stored

    def create(self, obj: Any) -> None:
        if self.creations_left == 0:
            raise ApiError(status=meta_v1.Status(code=500, reason="InternalError"))
        self.creations_left -= 1
        self.put("Node", dict(obj))

    def delete(self, kind: Any, name: str) -> None:
        del self.objects[kind.__name__]["", name]

    def patch(self, _kind: Any, name: str, patch: Object, *, namespace: str, patch_type: Any) -> None:
        self.objects["ProvisioningRequest"][namespace, name].setdefault("status", {}).update(patch["status"])

    def pool_nodes(self) -> Sequence[str]:
        return sorted(n for _, n in self.objects["Node"] if n != "system")

    def make_ready(self) -> None:
        for node in self.objects["Node"].values():
            node["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}

    def zone(self, **data: str) -> None:
        """Sets the zone's ConfigMap; by default creating nodes takes no time."""
        settings = {"l4.seconds": "0"} | {name.replace("_", "."): value for name, value in data.items()}
        self.put(
            "ConfigMap", {"metadata": {"namespace": "kube-system", "name": "sandbox-zone"}, "data": settings}
        )

    def ask(self, name: str, pods: int, *, created: int = 0, gpus: str = "1") -> Object:
        """Creates a request for `pods` pods and its template."""
        resources = {"requests": {"cpu": "1", "nvidia.com/gpu": gpus}}
        template = {"spec": {"containers": [{"resources": resources}]}}
        self.put("PodTemplate", {"metadata": {"namespace": "t", "name": name}, "template": template})
        request = {
            "metadata": {
                "namespace": "t",
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": "1",
                "creationTimestamp": f"2030-01-01T00:00:{created:02d}Z",
            },
            "spec": {
                "provisioningClassName": "queued-provisioning.gke.io",
                "podSets": [{"podTemplateRef": {"name": name}, "count": pods}],
            },
        }
        self.put("ProvisioningRequest", request)
        return request


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def step(cluster: Cluster) -> None:
    """Runs one pass of a new provisioner, without state of the previous one."""
    provisioner = Provisioner(cluster, [SHAPE])  # type: ignore[arg-type]  # the calls it makes are there
    provisioner.reconcile(copy.deepcopy(list(cluster.objects["ProvisioningRequest"].values())))


def test_all_nodes_are_created_at_once_and_provisioned_when_ready(cluster: Cluster) -> None:
    request = cluster.ask("a", pods=4)
    step(cluster)
    assert len(cluster.pool_nodes()) == 4
    assert is_true(request, "Accepted")
    assert not is_true(request, "Provisioned")
    cluster.make_ready()
    step(cluster)
    assert is_true(request, "Provisioned")
    resize_name = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
    nodes = [n for n in cluster.list(kinds.Node) if n is not SYSTEM_NODE]
    label = "autoscaling.gke.io/provisioning-request"
    assert {n["metadata"]["labels"][label] for n in nodes} == {resize_name}


def test_request_that_does_not_fit_gets_no_nodes_and_waits(cluster: Cluster) -> None:
    cluster.zone(l4_nodes="3")
    request = cluster.ask("a", pods=4)
    step(cluster)
    assert cluster.pool_nodes() == []
    assert condition(request, "Provisioned")["reason"] == "OutOfCapacity"
    assert "has 3 more nodes" in condition(request, "Provisioned")["message"]
    cluster.zone(l4_nodes="4")
    step(cluster)
    assert len(cluster.pool_nodes()) == 4


def test_oldest_request_is_served_first_and_capacity_is_not_shared(cluster: Cluster) -> None:
    cluster.zone(l4_nodes="5")
    younger, older = cluster.ask("a", pods=3, created=2), cluster.ask("b", pods=3, created=1)
    step(cluster)
    assert len(cluster.pool_nodes()) == 3
    assert condition(older, "Provisioned")["reason"] == "Provisioning"
    assert condition(younger, "Provisioned")["reason"] == "OutOfCapacity"


def test_nodes_being_created_take_time_and_hold_capacity(cluster: Cluster) -> None:
    cluster.zone(l4_nodes="3", l4_seconds="5")
    first, second = cluster.ask("a", pods=2, created=1), cluster.ask("b", pods=2, created=2)
    now = [100.0]
    provisioner = Provisioner(cluster, [SHAPE], lambda: now[0])  # type: ignore[arg-type]  # as in step
    for at, nodes in ((100.0, 0), (104.9, 0), (105.0, 2)):
        now[0] = at
        provisioner.reconcile(copy.deepcopy([first, second]))
        assert len(cluster.pool_nodes()) == nodes
        assert condition(second, "Provisioned")["reason"] == "OutOfCapacity"


def test_stockout_fails_the_request_if_the_zone_is_configured_so(cluster: Cluster) -> None:
    cluster.zone(l4_nodes="0", l4_stockout="fail")
    request = cluster.ask("a", pods=1)
    step(cluster)
    assert condition(request, "Failed")["reason"] == "OutOfCapacity"
    cluster.zone(l4_nodes="9")
    step(cluster)
    assert cluster.pool_nodes() == []  # an ended request gets no nodes


def test_request_that_cannot_be_served_fails_with_a_reason(cluster: Cluster) -> None:
    request = cluster.ask("a", pods=1, gpus="8")
    step(cluster)
    assert condition(request, "Failed")["reason"] == "CannotBeServed"
    assert "larger than a node" in condition(request, "Failed")["message"]


def test_request_without_its_template_does_not_block_others(cluster: Cluster) -> None:
    orphan = cluster.ask("a", pods=1, created=1)
    cluster.ask("b", pods=2, created=2)
    del cluster.objects["PodTemplate"]["t", "a"]
    step(cluster)
    assert "status" not in orphan
    assert len(cluster.pool_nodes()) == 2


def test_nodes_are_deleted_with_their_request_once_they_have_no_pods(cluster: Cluster) -> None:
    cluster.ask("a", pods=2)
    step(cluster)
    busy, idle = cluster.pool_nodes()
    cluster.put("Pod", {"metadata": {"namespace": "t", "name": "p"}, "spec": {"nodeName": busy}})
    del cluster.objects["ProvisioningRequest"]["t", "a"]
    step(cluster)
    assert cluster.pool_nodes() == [busy]
    assert idle != busy
    cluster.objects["Pod"].clear()
    step(cluster)
    assert cluster.pool_nodes() == []


def test_interrupted_creation_is_completed_even_if_capacity_has_shrunk(cluster: Cluster) -> None:
    request = cluster.ask("a", pods=4)
    cluster.creations_left = 2
    with pytest.raises(ApiError):
        step(cluster)
    assert len(cluster.pool_nodes()) == 2
    cluster.creations_left = 1000
    cluster.zone(l4_nodes="2")
    step(cluster)
    cluster.make_ready()
    step(cluster)
    assert len(cluster.pool_nodes()) == 4
    assert is_true(request, "Provisioned")


def test_pass_without_changes_writes_nothing(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.ask("a", pods=1)
    step(cluster)
    cluster.make_ready()
    step(cluster)
    for write in ("create", "delete", "patch"):
        monkeypatch.delattr(Cluster, write)
    step(cluster)


def test_invalid_numbers_of_the_zone_are_ignored(cluster: Cluster) -> None:
    cluster.zone(l4_nodes="many")
    cluster.ask("a", pods=10)
    step(cluster)
    assert len(cluster.pool_nodes()) == 10


def test_requests_of_other_classes_are_ignored(cluster: Cluster) -> None:
    request = cluster.ask("a", pods=1)
    request["spec"]["provisioningClassName"] = "check-capacity.autoscaling.x-k8s.io"
    step(cluster)
    assert "status" not in request


@pytest.mark.parametrize(("status", "moved"), [("True", False), ("False", True)])
def test_transition_time_changes_only_with_the_status(status: str, moved: bool) -> None:
    old = {"type": "Provisioned", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z"}
    other = {"type": "Accepted", "status": "True", "lastTransitionTime": "2000-01-01T00:00:00Z"}
    conditions = merged_conditions([other, old], [("Provisioned", status, "Reason", "message")], 3)
    assert conditions[0] == other
    assert (conditions[1]["lastTransitionTime"] != old["lastTransitionTime"]) == moved
    assert conditions[1] | {"lastTransitionTime": ""} == {
        "type": "Provisioned",
        "status": status,
        "reason": "Reason",
        "message": "message",
        "observedGeneration": 3,
        "lastTransitionTime": "",
    }
