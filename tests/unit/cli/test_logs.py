"""Tests of the choice of the pods whose logs are printed."""

import pytest

from muster.cli.logs import chosen
from muster.kube import kinds
from muster.live.acting.jobs import split
from muster.live.gang_pods import pods_of
from muster.live.observed import ObservationError
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import Body, controlled_by, job, read, stored

CLUSTER, NODE_TYPE, GROUP = "ray.io/cluster", "ray.io/node-type", "ray.io/group"


OWN = stored(ray_cluster("dev-1"), ownerReferences=[controlled_by(kinds.RAY_JOBS, "dev")])
OTHER = stored(ray_cluster("other-1"), ownerReferences=[controlled_by(kinds.RAY_JOBS, "other")])


def labelled(name: str, labels: dict[str, str]) -> Body:
    return stored({"metadata": {"name": name, "namespace": "team-a", "labels": labels}})


LISTED = [
    labelled("dev-1-worker", {CLUSTER: "dev-1", NODE_TYPE: "worker", GROUP: "gpu"}),
    labelled("dev-1-head", {CLUSTER: "dev-1", NODE_TYPE: "head", GROUP: "headgroup"}),
    labelled("dev-submitter", {"batch.kubernetes.io/job-name": "dev"}),
    labelled("other-1-head", {CLUSTER: "other-1", NODE_TYPE: "head", GROUP: "headgroup"}),
]
FOUND = {"dev-1-head": "head", "dev-1-worker": "gpu", "dev-submitter": "submitter"}


def test_pods_of_a_job_have_the_names_of_their_pod_sets() -> None:
    clusters = [read(kinds.RAY_CLUSTERS, body) for body in (OWN, OTHER)]
    pods = [read(kinds.PODS, body) for body in LISTED]
    assert pods_of(kinds.RAY_JOBS, job(ray_job("dev")).obj, clusters, pods) == FOUND


@pytest.mark.parametrize(
    ("pods", "pod_set", "names"),
    [
        pytest.param(FOUND, None, ["dev-submitter"], id="the submitter first"),
        pytest.param({"h": "head", "w": "gpu"}, None, ["h"], id="else the head"),
        pytest.param(FOUND, "gpu", ["dev-1-worker"], id="a group"),
        pytest.param(FOUND, "all", ["dev-1-head", "dev-1-worker", "dev-submitter"], id="all"),
    ],
)
def test_pods_are_chosen_by_pod_set(pods: dict[str, str], pod_set: str | None, names: list[str]) -> None:
    assert chosen(pods, pod_set) == names


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        pytest.param({}, "the job has no pods", id="no pods"),
        pytest.param(
            FOUND,
            "the job has no pods in pod set tpu; expected one of: gpu, head, submitter, all",
            id="others",
        ),
    ],
)
def test_a_choice_without_pods_is_refused(pods: dict[str, str], message: str) -> None:
    with pytest.raises(ObservationError, match=message):
        chosen(pods, "tpu")


@pytest.mark.parametrize(
    "name", [pytest.param("rayjob/dev", id="kind"), pytest.param("RayJobs/dev", id="plural")]
)
def test_a_job_is_named_by_kind_and_name(name: str) -> None:
    assert split(name) == (kinds.RAY_JOBS, "dev")


@pytest.mark.parametrize("name", ["dev", "pod/dev", "rayjob/"])
def test_other_names_of_jobs_are_refused(name: str) -> None:
    with pytest.raises(ObservationError, match="expected one of rayjob/NAME"):
        split(name)
