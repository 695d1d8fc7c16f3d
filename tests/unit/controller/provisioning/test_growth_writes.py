"""Growth on queued pools: the requests for its nodes, the gates of its pods, and its limit."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import elastic_pod_sets, may_grow
from muster.cluster.jobs.templates import PlacementError, admitted_templates
from muster.configuration.configuration import NOTICE_MS
from muster.controller.gangs.elastic_gangs import elastic_writes
from muster.controller.gangs.job_writes import sync_provisioning_requests
from muster.controller.gangs.planned_write import PlannedWrite
from muster.kube import kinds
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch
from muster.objects.names import (
    CLASS_ANNOTATION,
    CONSUME_ANNOTATION,
    GROWTH_ATTEMPT,
    GROWTH_LABEL,
    GROWTH_NUMBER,
    REQUEST_LABEL,
)
from tests.simulation.manifests import CHECK, provisioning
from tests.unit.controller.builders import NOW_MS, REQUEST, Body
from tests.unit.controller.queued_gangs import KEY, QueuedGang, growth, growth_name

FIRST, SECOND = growth_name(1), growth_name(2)


def planned(gang: QueuedGang, offer: int = 0) -> Iterator[PlannedWrite]:
    workload, cluster = gang.workload()
    yield from sync_provisioning_requests(workload, cluster, NOW_MS)
    yield from elastic_writes(workload, cluster, {"gpu": offer}, NOW_MS, NOTICE_MS)


def described(write: object) -> str:
    match write:
        case Create(kind=kinds.PROVISIONING_REQUESTS, body=body):
            (pods,) = body["spec"]["podSets"]
            return f"request {pods['count']} as {_short(body['metadata']['name'])}"
        case Create(body=body):
            return f"template {_short(body['metadata']['name'])}"
        case Delete(kind=kinds.PROVISIONING_REQUESTS):
            return f"delete {_short(write.key)}"
        case Delete():
            return f"delete template {_short(write.key)}"
        case MergePatch(kind=kinds.PODS, body=body):
            name = body["metadata"]["annotations"][CONSUME_ANNOTATION]
            return f"open {write.key.rpartition('/')[2]} on {_short(name)}"
        case JsonPatch(operations=(operation,)):
            return f"limit {operation['value']}"
        case _:
            return str(write)


def _short(name: str) -> str:
    prefix = REQUEST.removesuffix("-1")
    return name.rpartition("/")[2].replace(f"{prefix}-growth-gpu-", "growth ").replace(REQUEST, "the gang's")


PENDING, READY = growth("Accepted"), growth("Accepted", "Provisioned")
OLD = growth("Accepted", "Provisioned", ago_s=3600)
FAILED = growth("Accepted", "Failed", ago_s=30)


@pytest.mark.parametrize(
    ("gang", "offer", "expected"),
    [
        pytest.param(QueuedGang(), 0, [], id="at its minimum"),
        pytest.param(QueuedGang(), 4, ["limit 6"], id="asked whether it has work for more"),
        pytest.param(
            QueuedGang(granted=6, replicas=6, cap=6, gated=4),
            0,
            ["template ppt-growth 1-gpu", "request 4 as growth 1"],
            id="granted: nodes are requested, and the autoscaler keeps its limit until they are",
        ),
        pytest.param(
            QueuedGang(granted=6, replicas=6, cap=6, gated=4, requests=(PENDING,)),
            2,
            ["limit 2"],
            id="requested: no pod waits",
        ),
        pytest.param(
            QueuedGang(granted=6, replicas=2, cap=2, requests=(PENDING,)), 2, [], id="waits for its nodes"
        ),
        pytest.param(
            QueuedGang(granted=6, replicas=2, cap=2, requests=(READY,)),
            0,
            ["limit 6"],
            id="provisioned: the limit rises",
        ),
        pytest.param(
            QueuedGang(granted=6, replicas=6, cap=6, gated=2, requests=(READY,)),
            0,
            ["open worker-2 on growth 1", "open worker-3 on growth 1"],
            id="its pods are created",
        ),
        pytest.param(
            QueuedGang(granted=3, replicas=6, cap=3, gated=4, requests=(READY,)),
            0,
            ["open worker-2 on growth 1"],
            id="preempted in the meantime: as many as hold quota",
        ),
        pytest.param(
            QueuedGang(
                granted=7,
                replicas=7,
                cap=7,
                running={REQUEST: 1, FIRST: 4},
                gated=2,
                requests=(OLD, growth("Accepted", "Provisioned", number=2, count=2)),
            ),
            0,
            ["open worker-5 on growth 2", "open worker-6 on growth 2"],
            id="nodes of the gang that were idle are not used, as its minimum runs elsewhere",
        ),
        pytest.param(
            QueuedGang(running={}, gated=2),
            0,
            ["open worker-0 on the gang's", "open worker-1 on the gang's"],
            id="the minimum starts on the nodes of the gang",
        ),
        pytest.param(
            QueuedGang(requests=(OLD,)),
            0,
            ["delete template ppt-growth 1-gpu", "delete growth 1"],
            id="nodes that nothing uses are released",
        ),
        pytest.param(
            QueuedGang(granted=4, requests=(PENDING,)),
            0,
            [
                "delete template ppt-growth 1-gpu",
                "delete growth 1",
                "template ppt-growth 2-gpu",
                "request 2 as growth 2",
                "limit 4",
            ],
            id="preempted while it waits: fewer are requested",
        ),
        pytest.param(QueuedGang(requests=(FAILED,)), 4, [], id="no growth in its back-off"),
        pytest.param(
            QueuedGang(granted=6, replicas=6, cap=6, requests=(growth("Failed", ago_s=90),)),
            0,
            ["template ppt-growth 2-gpu", "request 4 as growth 2"],
            id="the next attempt",
        ),
        pytest.param(
            QueuedGang(
                granted=6, cap=2, requests=(growth("Accepted", deletionTimestamp="2027-01-15T08:00:00Z"),)
            ),
            0,
            ["limit 6"],
            id="the deleted request of the same name goes first",
        ),
    ],
)
def test_writes_of_a_gang_on_a_queued_pool(gang: QueuedGang, offer: int, expected: list[str]) -> None:
    if gang.platform is None:
        gang.platform = provisioning(base_s=60)
    assert [described(write.write) for write in planned(gang, offer)] == expected


def test_a_request_has_the_config_and_the_template_of_the_gang() -> None:
    failed = growth("Failed", number=3, attempt=2, ago_s=3600)
    gang = QueuedGang(granted=5, replicas=5, cap=5, requests=(failed,), platform=provisioning(base_s=60))
    template, request = (p.write for p in planned(gang) if isinstance(p.write, Create))
    assert isinstance(template, Create)
    assert isinstance(request, Create)
    metadata, spec = request.body["metadata"], request.body["spec"]
    assert metadata["name"] == growth_name(4)
    assert metadata["labels"] == {"kueue.x-k8s.io/managed": "true", GROWTH_LABEL: "gpu"}
    assert metadata["annotations"] == {GROWTH_NUMBER: "4", GROWTH_ATTEMPT: "3"}
    assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["Workload"]
    assert spec["provisioningClassName"] == "queued-provisioning.gke.io"
    (pods,) = spec["podSets"]
    assert pods == {"podTemplateRef": {"name": template.body["metadata"]["name"]}, "count": 3}
    of_pods = template.body["template"]["spec"]
    assert of_pods["nodeSelector"] == {"cloud.google.com/gke-nodepool": "l4"}
    assert "schedulingGates" not in of_pods


def test_a_pod_gets_the_nodes_of_its_request_with_the_removal_of_its_gate() -> None:
    (opening,) = planned(QueuedGang(granted=3, replicas=3, cap=3, gated=1, requests=(READY,)))
    assert isinstance(opening.write, MergePatch)
    assert opening.write.body == {
        "metadata": {
            "annotations": {CONSUME_ANNOTATION: FIRST, CLASS_ANNOTATION: "queued-provisioning.gke.io"}
        },
        "spec": {"schedulingGates": None, "nodeSelector": {REQUEST_LABEL: f"resize-{FIRST}"}},
    }


def test_the_template_of_a_group_names_no_request() -> None:
    """KubeRay creates the pods of all requests from it."""
    workload, cluster = QueuedGang().workload()
    template = admitted_templates(workload, cluster.flavors)["gpu"]
    assert CONSUME_ANNOTATION not in template.metadata.annotations
    assert REQUEST_LABEL not in template.spec.node_selector


def test_two_requests_for_a_pod_conflict() -> None:
    workload, cluster = QueuedGang().workload()
    (state,) = workload.status.admission_checks
    (update,) = state.pod_set_updates
    second = replace(update, annotations={**update.annotations, CONSUME_ANNOTATION: "another"})
    states = (state, replace(state, name="another", pod_set_updates=(second,)))
    status = replace(workload.status, admission_checks=states)
    with pytest.raises(PlacementError, match="sets annotation"):
        admitted_templates(replace(workload, status=status), cluster.flavors)


def check(name: str, controller: str = "") -> Body:
    (body,) = provisioning()[kinds.CHECKS]
    spec = {**body["spec"], **({"controllerName": controller} if controller else {})}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        pytest.param([check(CHECK)], True, id="nodes"),
        pytest.param(
            [check(CHECK), check("budget", "example.com/budget")], False, id="another kind of check"
        ),
        pytest.param([check(CHECK), check("more")], False, id="two requests for each pod"),
    ],
)
def test_checks_that_allow_growth(checks: list[Body], expected: bool) -> None:
    names = tuple(body["metadata"]["name"] for body in checks)
    gang = QueuedGang(replicas=6, cap=6, checks=names, platform={kinds.CHECKS: checks})
    workload, cluster = gang.workload()
    assert may_grow(workload, workload.status, cluster) is expected
    assert asked(cluster) == (6 if expected else 2)


def asked(cluster: ClusterState) -> int:
    workload = cluster.workloads[KEY]
    return elastic_pod_sets(workload, workload.status, cluster, NOW_MS)["gpu"].asked


UNACCEPTED = growth(ago_s=700)
ANOTHER_CLASS = growth("Accepted")
ANOTHER_CLASS["spec"]["provisioningClassName"] = "other"
EDITED = growth("Accepted")
EDITED["metadata"]["annotations"] = {GROWTH_NUMBER: "-4", GROWTH_ATTEMPT: "many"}


@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        pytest.param(growth(ago_s=500), 6, id="not accepted yet"),
        pytest.param(UNACCEPTED, 2, id="not accepted for too long: its job asks again"),
        pytest.param(PENDING, 6, id="accepted"),
        pytest.param(EDITED, 6, id="edited annotations"),
        pytest.param(ANOTHER_CLASS, 2, id="of another class than the check's"),
        pytest.param(READY, 6, id="provisioned"),
        pytest.param(OLD, 2, id="provisioned long ago, and not used"),
        pytest.param(growth("Provisioned", "CapacityRevoked"), 2, id="revoked"),
        pytest.param(growth("Provisioned", "BookingExpired"), 2, id="expired"),
        pytest.param(FAILED, 2, id="failed"),
    ],
)
def test_a_gang_asks_for_the_pods_of_its_request(request_body: Body, expected: int) -> None:
    """Under the limit of its nodes, Ray's autoscaler does not ask for them."""
    gang: Any = QueuedGang(granted=6, requests=(request_body,), platform=provisioning(base_s=60))
    assert asked(gang.cluster()) == expected
