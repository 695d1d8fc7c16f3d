"""Pods that Ray's autoscaler resizes in place count at their maximum."""

import json
from typing import Any

import pytest

from muster.cluster.jobs.templates import admitted_templates
from muster.kube import kinds
from muster.objects.kueue import PodSet
from muster.objects.pods import pod_requests, read_template
from tests.simulation.manifests import Body, flavor, ray_cluster_spec, ray_job, template
from tests.unit.controller.builders import job, read, workload

GI = 2**30
MAXIMA = ("muster.dev/max-cpu", "muster.dev/max-memory")


def sizes(cpu: Any = "4", memory: Any = "8Gi") -> Body:
    return {"max-cpu": cpu, "max-memory": memory, "resize-timeout": 60}


def resized(groups: Body | str, *, autoscaled: bool = True, worker: Body | None = None, **group: Any) -> Body:
    """Returns a RayJob with the annotation for these groups; its worker requests 1 CPU and 2 GiB."""
    spec = ray_cluster_spec(2, worker or template("worker", cpu=1, memory="2Gi"))
    spec["workerGroupSpecs"][0] |= {"minReplicas": 2, **group}
    body = ray_job("dev", rayClusterSpec={**spec, "enableInTreeAutoscaling": autoscaled})
    text = groups if isinstance(groups, str) else json.dumps({"groups": groups})
    body["metadata"]["annotations"] = {"ray.io/ippr": text}
    return body


def workers(body: Body) -> PodSet:
    (pods,) = [pods for pods in job(body).pod_sets if pods.name == "gpu"]
    return pods


def limited() -> Body:
    worker = template("worker", cpu=1, memory="2Gi")
    worker["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "2", "memory": "16Gi"}
    return worker


def beside_a_sidecar() -> Body:
    worker = template("worker", cpu=1, memory="2Gi")
    (sidecar,) = template("sidecar", cpu=1, memory="1Gi")["spec"]["containers"]
    worker["spec"]["containers"].append(sidecar)
    return worker


BASE = (1000, 2 * GI)
COUNTED: dict[str, tuple[Body, tuple[int, int]]] = {
    "at its maximum": (resized({"gpu": sizes()}), (4000, 8 * GI)),
    "numbers": (resized({"gpu": sizes(1.5, 3 * GI)}), (1500, 3 * GI)),
    "more than its limit": (resized({"gpu": sizes()}, worker=limited()), (4000, 8 * GI)),
    "beside a sidecar": (resized({"gpu": sizes()}, worker=beside_a_sidecar()), (5000, 9 * GI)),
    "a maximum below the request": (resized({"gpu": sizes("500m", "4Gi")}), (1000, 4 * GI)),
    "of another group": (resized({"other": sizes()}), BASE),
    "no groups": (resized({}), BASE),
    "of a cluster that is not autoscaled": (resized({"gpu": sizes()}, autoscaled=False), BASE),
}


@pytest.mark.parametrize("name", COUNTED)
def test_pods_count_at_the_maximum_of_their_group(name: str) -> None:
    body, expected = COUNTED[name]
    requests = pod_requests(workers(body).template)
    assert (requests["cpu"], requests["memory"]) == expected


def test_the_head_counts_at_its_maximum() -> None:
    (head, *_) = job(resized({"headgroup": sizes()})).pod_sets
    base, *_ = job(resized({})).pod_sets
    added = {r: pod_requests(head.template)[r] - pod_requests(base.template)[r] for r in ("cpu", "memory")}
    assert added == {"cpu": 3000, "memory": 6 * GI}  # of 1 CPU and 2 GiB


def test_limits_are_raised_to_the_maximum_only() -> None:
    first, *_ = read_template(workers(resized({"gpu": sizes()}, worker=limited())).template).spec.containers
    assert first.resources.limits == {"cpu": "4", "memory": "16Gi"}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param({"gpu": sizes()}, ("4", "8Gi"), id="both"),
        pytest.param({"gpu": sizes("500m")}, (None, "8Gi"), id="memory only"),
        pytest.param({}, (None, None), id="none"),
    ],
)
def test_started_pods_have_their_maximum_in_annotations(
    groups: Body, expected: tuple[str | None, str | None]
) -> None:
    """The policy of pods/resize reads them (components/admission/pods.py)."""
    gang = workload(resized(groups), "QuotaReserved", "Admitted")
    flavors = {name: read(kinds.FLAVORS, flavor(name)) for name in ("cpu", "l4")}
    annotations = admitted_templates(gang, flavors)["gpu"].metadata.annotations
    assert tuple(annotations.get(key) for key in MAXIMA) == expected


def test_another_annotation_of_the_same_spec_is_counted_again() -> None:
    first, second = resized({"gpu": sizes()}), resized({"gpu": sizes("6")})
    assert [pod_requests(workers(body).template)["cpu"] for body in (first, second)] == [4000, 6000]


def test_quantities_that_cannot_be_read_are_left_to_their_own_message() -> None:
    body = resized({"gpu": sizes()}, worker=template("worker", cpu="many", memory="2Gi"))
    first, *_ = read_template(workers(body).template).spec.containers
    assert first.resources.requests == {"cpu": "many", "memory": "2Gi"}


EXPECTED = "expected JSON with max-cpu, max-memory and resize-timeout for each group"
FAULTS: dict[str, tuple[Body, str]] = {
    "no JSON": (resized("4 CPUs"), EXPECTED),
    "no timeout": (resized({"gpu": {"max-cpu": "4", "max-memory": "8Gi"}}), EXPECTED),
    "no quantity": (resized({"gpu": sizes("many")}), EXPECTED),
    "num-cpus": (
        resized({"gpu": sizes()}, rayStartParams={"num-cpus": "1"}),
        "group 'gpu', which annotation ray.io/ippr resizes: Ray takes its num-cpus from the pod: remove it",
    ),
    "no request for memory": (
        resized({"gpu": sizes()}, worker=template("worker", cpu=1)),
        "group 'gpu', which annotation ray.io/ippr resizes: its first container needs a request for memory",
    ),
    "valid": (resized({"gpu": sizes()}), ""),
    "unreadable, of a cluster that is not autoscaled": (resized("4 CPUs", autoscaled=False), ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_annotations_that_ray_refuses_are_refused(name: str) -> None:
    body, why = FAULTS[name]
    problem = job(body).ineligibility
    assert why in (problem or "")
    assert (problem is None) is (not why)
