"""Conversion of Kubernetes objects to the core's snapshot."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.kube import kinds
from muster.objects.kueue import Admission, PodSet
from muster.objects.pods import encode_template
from muster.translation import core_pod_set, core_workload, snapshot
from tests.simulation.manifests import GPU, cluster_queue, flavor, group, quotas


def read(kind: kinds.Kind[Any], body: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body), type=kind.view)


def test_a_resource_flavor_becomes_a_flavor() -> None:
    converted = snapshot.flavor(read(kinds.FLAVORS, flavor("l4", queued=True)))
    assert converted.node_labels == {"cloud.google.com/gke-nodepool": "l4"}
    assert converted.taints[0] == core.Taint(GPU, "present", core.TaintEffect.NO_SCHEDULE)
    assert converted.tolerations[0] == core.Toleration(GPU, "Equal", "present", core.TaintEffect.NO_SCHEDULE)


@pytest.mark.parametrize(
    ("annotation", "sizes"),
    [
        pytest.param('[{"cpu":"7910m","memory":"1Gi"}]', ({"cpu": 7910, "memory": 2**30},), id="one kind"),
        pytest.param('[{"cpu":"4"},{"cpu":"8"}]', ({"cpu": 4000}, {"cpu": 8000}), id="two kinds"),
        pytest.param("large", (), id="no JSON"),
        pytest.param('[{"cpu":"many"}]', (), id="no quantity"),
        pytest.param('[{"cpu":8}]', (), id="no text"),
    ],
)
def test_node_sizes_of_a_flavor_are_read(annotation: str, sizes: tuple[dict[str, int], ...]) -> None:
    body = flavor("l4")
    body["metadata"]["annotations"] = {"muster.dev/node-sizes": annotation}
    assert snapshot.flavor(read(kinds.FLAVORS, body)).node_sizes == sizes


def test_a_cluster_queue_is_converted() -> None:
    limited = {"nominalQuota": "4", "borrowingLimit": "0", "lendingLimit": "1"}
    body = cluster_queue(
        "team-a",
        quotas("l4", cpu="1500m", gpu=limited),
        queueingStrategy="StrictFIFO",
        stopPolicy="Hold",
        preemption={"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
    )
    assert snapshot.cluster_queue(read(kinds.CLUSTER_QUEUES, body)) == core.ClusterQueue(
        name="team-a",
        cohort="ml",
        groups=(
            core.ResourceGroup(
                covered=("cpu", GPU),
                flavors=(core.FlavorQuotas("l4", {"cpu": core.Quota(1500), GPU: core.Quota(4, 0, 1)}),),
            ),
        ),
        strategy=core.QueueingStrategy.STRICT_FIFO,
        stop=core.StopPolicy.HOLD,
        within_queue=core.PreemptionPolicy.LOWER_PRIORITY,
        reclaim_within_cohort=core.PreemptionPolicy.ANY,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Borrow", "MayStopSearch"), ("MayStopSearch", "MayStopSearch"), ("TryNextFlavor", "TryNextFlavor")],
)
def test_older_names_of_fungibility_are_read(text: str, expected: str) -> None:
    body = cluster_queue("team-a", quotas("l4", cpu=1), flavorFungibility={"whenCanBorrow": text})
    converted = snapshot.cluster_queue(read(kinds.CLUSTER_QUEUES, body))
    assert converted.when_can_borrow == core.FungibilityPolicy(expected)


def test_a_cohort_is_converted() -> None:
    spec = {"parentName": "org", "resourceGroups": [group(quotas("l4", cpu=2))]}
    converted = snapshot.cohort(read(kinds.COHORTS, {"metadata": {"name": "ml"}, "spec": spec}))
    quota = core.FlavorQuotas("l4", {"cpu": core.Quota(2000)})
    assert converted == core.Cohort("ml", "org", (core.ResourceGroup(("cpu",), (quota,)),))


def test_a_pod_set_is_converted() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
    }
    assert core_pod_set.pod_set(
        PodSet(name="gpu", count=3, template=encode_template({"spec": spec}))
    ) == core.PodSet(
        name="gpu",
        count=3,
        requests={"cpu": 1000},
        node_selector={"disk": "ssd"},
        affinity=((core.Requirement("zone", "Exists"),),),
        tolerations=(core.Toleration("spot", "Exists", "", None),),
    )


def test_an_admission_is_converted() -> None:
    assigned = {"name": "gpu", "count": 2, "flavors": {"cpu": "l4"}, "resourceUsage": {"cpu": "2500m"}}
    body = {"clusterQueue": "team-a", "podSetAssignments": [assigned]}
    source = msgspec.convert(body, type=Admission)
    expected = core.PodSetAssignment("gpu", 2, {"cpu": "l4"}, {"cpu": 2500})
    assert core_workload.admission(source) == core.Admission("team-a", (expected,))
