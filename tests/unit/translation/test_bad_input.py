"""Invalid objects, which an API server should have refused: errors name object and field; others work."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.objects import kueue, kueue_queues
from muster.translation import core_workload, snapshot

NOW_MS = 1_000_000


def read(kind: Any, name: str, spec: dict[str, Any], **metadata: str) -> Any:
    """Decodes it from JSON, as the API server sends it."""
    data = {"metadata": {"name": name, **metadata}, "spec": spec}
    return msgspec.json.decode(msgspec.json.encode(data), type=kind)


def queue(name: str, quota: str = "4", flavor: str = "l4", **spec: Any) -> kueue_queues.ClusterQueue:
    quotas = {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": quota}]}
    group = {"coveredResources": ["cpu"], "flavors": [quotas]}
    parsed: kueue_queues.ClusterQueue = read(
        kueue_queues.ClusterQueue, name, {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    )
    return parsed


def gang(name: str, in_queue: str, cpu: str = "1") -> core.Workload:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    obj = read(kueue.Workload, name, {"queueName": "q", "podSets": [pod_set]}, namespace="ns", uid=name)
    return core_workload.workload(obj, obj.status, in_queue)


def cohort(name: str, parent: str) -> kueue_queues.Cohort:
    parsed: kueue_queues.Cohort = read(kueue_queues.Cohort, name, {"parentName": parent})
    return parsed


@dataclass(frozen=True)
class Broken:
    queue: kueue_queues.ClusterQueue
    message: str
    cohorts: tuple[kueue_queues.Cohort, ...] = ()


QUANTITY = "expected a number with an optional suffix, such as 500m, 4, 1.5Gi or 2e3"
BROKEN = {
    "negative quota": Broken(
        queue("bad", "-1"),
        "ClusterQueue bad is inactive: nominal quota for cpu of flavor l4: is -1000; expected 0 or more",
    ),
    "unparsable quantity": Broken(
        queue("bad", "four"),
        "ClusterQueue bad is inactive: nominal quota for cpu of flavor l4: "
        f"'four' is not a quantity of cpu: {QUANTITY}",
    ),
    "unknown flavor": Broken(
        queue("bad", flavor="h100"),
        "ClusterQueue bad is inactive: ResourceFlavor h100 does not exist",
    ),
    "cyclic cohort": Broken(
        queue("bad", cohortName="ml"),
        "ClusterQueue bad is inactive: the parents of its cohort ml form a cycle",
        (cohort("ml", "org"), cohort("org", "ml")),
    ),
}


def decided(broken: Broken) -> core.Plan:
    flavor: kueue_queues.ResourceFlavor = read(kueue_queues.ResourceFlavor, "l4", {})
    workloads = [gang("a", "bad"), gang("b", "good")]
    queues = [broken.queue, queue("good")]
    return core.decide(snapshot.snapshot([flavor], broken.cohorts, queues, workloads), NOW_MS)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_other_queues_admit_despite_bad_objects(broken: Broken) -> None:
    assert [decision.workload for decision in decided(broken).admissions] == ["ns/b"]


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_the_message_names_the_bad_field(broken: Broken) -> None:
    problem = snapshot.problem(broken.queue)
    (waiting,) = decided(broken).waiting
    assert waiting.reason is core.WaitReason.QUEUE_INACTIVE
    message = f"ClusterQueue bad is inactive: {problem.split(': ', 1)[1]}" if problem else waiting.message
    assert message == broken.message


def test_an_error_names_the_workload_and_the_pod_set() -> None:
    with pytest.raises(core.SnapshotError) as error:
        gang("w", "good", "many")
    assert (error.value.where, error.value.field) == ("Workload ns/w", "requests of pod set main")
    assert str(error.value).endswith(f"'many' is not a quantity of cpu: {QUANTITY}")
