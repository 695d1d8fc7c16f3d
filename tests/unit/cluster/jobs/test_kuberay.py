"""Faults that KubeRay refuses are found before the gang holds quota, with the field at fault."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulation.api import merged
from tests.simulation.manifests import HEAD, ray_cluster, ray_cluster_spec, ray_job, ray_service
from tests.unit.controller.builders import Body, job

SIDECAR: dict[str, Any] = {"submissionMode": "SidecarMode"}
OPTIONS: Body = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
TOKEN = {"authOptions": {"mode": "token"}}
K8S_TOKEN = {"authOptions": {"mode": "token", "enableK8sTokenAuth": True}}


def head(**fields: Any) -> Body:
    return {"headGroupSpec": {"template": HEAD, **fields}}


def env(**variables: str) -> Body:
    (container,) = HEAD["spec"]["containers"]
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return head(template={"spec": {"containers": [{**container, "env": env}]}})


def group(**fields: Any) -> Body:
    (only,) = ray_cluster_spec(2)["workerGroupSpecs"]
    return {"workerGroupSpecs": [{**only, **fields}]}


def a_cluster(*specs: Mapping[str, Any], name: str = "notebook", annotations: Body | None = None) -> Body:
    body = ray_cluster(name)
    for spec in specs:
        body = merged(body, {"spec": spec})
    return {**body, "metadata": {**body["metadata"], "annotations": annotations or {}}}


def a_service(*specs: Mapping[str, Any], name: str = "llm", annotations: Body | None = None) -> Body:
    body = ray_service(name)
    for spec in specs:
        body = merged(body, {"spec": spec})
    return {**body, "metadata": {**body["metadata"], "annotations": annotations or {}}}


REFUSED: dict[str, tuple[Body, str]] = {
    "RayJob, long name": (ray_job("j" * 48), "metadata.name"),
    "RayJob, name with a dot": (ray_job("my.job"), "metadata.name"),
    "RayJob, name that begins with a digit": (ray_job("1job"), "metadata.name"),
    "RayCluster, long name": (a_cluster(name="c" * 54), "metadata.name"),
    "RayService, long name": (a_service(name="s" * 48), "metadata.name"),
    "backoffLimit": (ray_job("dev", backoffLimit=-1), "spec.backoffLimit is -1; expected at least 0"),
    "ttl": (ray_job("dev", ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished is -1"),
    "deadline": (ray_job("dev", activeDeadlineSeconds=0), "spec.activeDeadlineSeconds is 0"),
    "deadline to run": (ray_job("dev", preRunningDeadlineSeconds=0), "spec.preRunningDeadlineSeconds is 0"),
    "interactive with retries": (
        ray_job("dev", submissionMode="InteractiveMode", backoffLimit=1),
        "spec.backoffLimit can't be combined with submissionMode InteractiveMode",
    ),
    "sidecar with a submitter": (ray_job("dev", **SIDECAR, submitterPodTemplate=HEAD), "submissionMode"),
    "sidecar with its configuration": (ray_job("dev", **SIDECAR, submitterConfig={}), "submissionMode"),
    "sidecar that restarts": (
        ray_job(
            "dev",
            **SIDECAR,
            rayClusterSpec=merged(ray_cluster_spec(1), head(template={"spec": {"restartPolicy": "Always"}})),
        ),
        "submissionMode SidecarMode needs restartPolicy Never",
    ),
    "a submitter that always restarts": (
        ray_job("dev", submitterPodTemplate={"spec": {**HEAD["spec"], "restartPolicy": "Always"}}),
        "spec.submitterPodTemplate.spec.restartPolicy is 'Always'; expected Never or OnFailure",
    ),
    "a submitter that restarts by default": (
        ray_job("dev", submitterPodTemplate=HEAD),
        "spec.submitterPodTemplate.spec.restartPolicy is ''; expected Never or OnFailure",
    ),
    "a submitter's backoffLimit": (
        ray_job("dev", submitterConfig={"backoffLimit": -1}),
        "spec.submitterConfig.backoffLimit is -1; expected at least 0",
    ),
    "metadata without a version of Ray": (
        ray_job("dev", metadata={"owner": "me"}),
        "spec.metadata needs Ray 2.6.0 or later, but spec.rayClusterSpec.rayVersion is ''",
    ),
    "metadata for an old Ray": (
        ray_job(
            "dev",
            **SIDECAR,
            metadata={"owner": "me"},
            rayClusterSpec={**ray_cluster_spec(1), "rayVersion": "2.5.1"},
        ),
        "spec.metadata needs Ray 2.6.0 or later, but spec.rayClusterSpec.rayVersion is '2.5.1'",
    ),
    "half a deletion strategy": (
        ray_job("dev", deletionStrategy={"onSuccess": {"policy": "DeleteCluster"}}),
        "spec.deletionStrategy needs a policy both in onSuccess and in onFailure",
    ),
    "nothing to delete": (
        ray_job(
            "dev",
            deletionStrategy={
                "onSuccess": {"policy": "DeleteNone"},
                "onFailure": {"policy": "DeleteCluster"},
            },
        ),
        "spec.deletionStrategy: DeleteNone contradicts shutdownAfterJobFinishes",
    ),
    "a RayJob's Kubernetes tokens": (
        ray_job("dev", rayClusterSpec={**ray_cluster_spec(1), **K8S_TOKEN}),
        "spec.rayClusterSpec.authOptions.enableK8sTokenAuth",
    ),
    "a RayService's Kubernetes tokens": (
        a_service({"rayClusterConfig": K8S_TOKEN}),
        "spec.rayClusterConfig.authOptions.enableK8sTokenAuth is for RayClusters only",
    ),
    "minimum over maximum": (
        a_cluster(group(minReplicas=3, maxReplicas=2)),
        "worker group 'gpu': minReplicas 3 is more than maxReplicas 2",
    ),
    "minimum below zero": (a_cluster(group(minReplicas=-1)), "worker group 'gpu': minReplicas is -1"),
    "maximum below zero": (a_cluster(group(maxReplicas=-1)), "worker group 'gpu': maxReplicas is -1"),
    "of a RayJob": (
        ray_job("dev", rayClusterSpec=merged(ray_cluster_spec(1), group(maxReplicas=-1))),
        "worker group 'gpu': maxReplicas is -1",
    ),
    "of a RayService": (
        a_service({"rayClusterConfig": group(maxReplicas=-1)}),
        "worker group 'gpu': maxReplicas is -1",
    ),
    "priority of a group": (
        a_cluster(group(priority=5)),
        "worker group 'gpu': priority needs the autoscaler",
    ),
    "history server": (
        a_cluster({"historyServerOptions": {"collectorOptions": {"image": "collector"}}}),
        "spec.historyServerOptions needs a feature gate",
    ),
    "network policy": (
        a_cluster({"networkPolicy": {"mode": "DenyAll"}}),
        "spec.networkPolicy needs a feature",
    ),
    "mTLS": (a_cluster({"tlsOptions": {}}), "spec.tlsOptions needs a feature gate"),
    "GCS in RocksDB": (
        a_cluster({"gcsFaultToleranceOptions": {"backend": "rocksdb"}}),
        "spec.gcsFaultToleranceOptions: a gang uses the backend redis",
    ),
    "idle timeout": (a_cluster(group(idleTimeoutSeconds=5)), "worker group 'gpu': idleTimeoutSeconds"),
    "resources twice, head": (
        a_cluster(head(rayStartParams={"num-cpus": "1"}, resources={"CPU": "1"})),
        "spec.headGroupSpec: resources are set both in rayStartParams and in resources",
    ),
    "resources twice, workers": (
        a_cluster(group(rayStartParams={"num-gpus": "1"}, resources={"GPU": "1"})),
        "worker group 'gpu': resources are set both in rayStartParams and in resources",
    ),
    "labels among the parameters": (
        a_cluster(head(rayStartParams={"labels": "a=b"})),
        "spec.headGroupSpec: rayStartParams has labels",
    ),
    "an invalid label": (a_cluster(group(labels={"a b": "c"})), "worker group 'gpu': a b=c is not"),
    "a label with an invalid prefix": (
        a_cluster(group(labels={"Ray.io/zone": "c"})),
        "worker group 'gpu': Ray.io/zone=c is not a valid Kubernetes label",
    ),
    "a label whose prefix is too long": (
        a_cluster(group(labels={f"{'a' * 254}/zone": "c"})),
        f"worker group 'gpu': {'a' * 254}/zone=c is not a valid Kubernetes label",
    ),
    "a label without a name": (
        a_cluster(group(labels={"ray.io/": "c"})),
        "worker group 'gpu': ray.io/=c is not a valid",
    ),
    "a label that is too long": (
        a_cluster(group(labels={"a" * 64: "c"})),
        f"worker group 'gpu': {'a' * 64}=c is not a valid Kubernetes label",
    ),
    "an invalid value of a label": (a_cluster(group(labels={"a": "-c"})), "worker group 'gpu': a=-c is not"),
    "fault tolerance twice": (
        a_cluster(OPTIONS, annotations={"ray.io/ft-enabled": "true"}),
        "annotation ray.io/ft-enabled can't be combined with spec.gcsFaultToleranceOptions",
    ),
    "Redis by environment": (a_cluster(env(RAY_REDIS_ADDRESS="redis:6379")), "the head's RAY_REDIS_ADDRESS"),
    "Redis password": (a_cluster(OPTIONS, env(REDIS_PASSWORD="x")), "the head's Redis password"),
    "Redis username": (a_cluster(env(REDIS_USERNAME="x")), "the head's Redis username"),
    "external storage by annotation": (
        a_cluster(OPTIONS, annotations={"ray.io/external-storage-namespace": "x"}),
        "annotation ray.io/external-storage-namespace belongs in",
    ),
    "autoscaler by environment": (
        a_cluster(env(RAY_enable_autoscaler_v2="1")),
        "the head's RAY_enable_autoscaler_v2",
    ),
    "autoscaler by environment, spelled out": (
        a_cluster(env(RAY_enable_autoscaler_v2="true")),
        "the head's RAY_enable_autoscaler_v2",
    ),
    "tokens of an unknown version": (a_cluster(TOKEN), "spec.authOptions needs Ray 2.52.0 or later"),
    "tokens too early": (a_cluster(TOKEN, {"rayVersion": "2.51.1"}), "spec.authOptions needs Ray 2.52.0"),
    "Kubernetes tokens too early": (
        a_cluster(K8S_TOKEN, {"rayVersion": "2.54.0"}),
        "spec.authOptions needs Ray 2.55.0",
    ),
    "Kubernetes tokens without tokens": (
        a_cluster({"authOptions": {"enableK8sTokenAuth": True}}),
        "spec.authOptions.enableK8sTokenAuth needs spec.authOptions.mode token",
    ),
    "upgrade of a RayCluster": (
        a_cluster({"upgradeStrategy": {"type": "NewCluster"}}),
        "spec.upgradeStrategy.type is 'NewCluster'; expected Recreate or None",
    ),
    "initializing timeout": (
        a_service(annotations={"ray.io/initializing-timeout": "soon"}),
        "annotation ray.io/initializing-timeout is 'soon'",
    ),
    "no initializing timeout": (
        a_service(annotations={"ray.io/initializing-timeout": "0s"}),
        "annotation ray.io/initializing-timeout is '0s'",
    ),
    "a head service's name": (
        a_service({"rayClusterConfig": head(headService={"metadata": {"name": "mine"}})}),
        "the name in spec.rayClusterConfig.headGroupSpec.headService",
    ),
    "deletion delay": (
        a_service({"rayClusterDeletionDelaySeconds": -1}),
        "spec.rayClusterDeletionDelaySeconds is -1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_specs_that_kuberay_refuses(name: str) -> None:
    body, sentence = REFUSED[name]
    assert (job(body).ineligibility or "").startswith(sentence)


TAKEN: dict[str, Body] = {
    "RayJob": ray_job("j" * 47, backoffLimit=0, activeDeadlineSeconds=1, ttlSecondsAfterFinished=0),
    "sidecar": ray_job("dev", **SIDECAR),
    "its own submitter": ray_job(
        "dev",
        submitterPodTemplate={"spec": {**HEAD["spec"], "restartPolicy": "OnFailure"}},
        submitterConfig={"backoffLimit": 0},
    ),
    "metadata": ray_job(
        "dev", metadata={"owner": "me"}, rayClusterSpec={**ray_cluster_spec(1), "rayVersion": "v2.6.0"}
    ),
    "metadata that is not submitted": ray_job("dev", submissionMode="HTTPMode", metadata={"owner": "me"}),
    "interactive": ray_job("dev", submissionMode="InteractiveMode"),
    "interactive without retries": ray_job("dev", submissionMode="InteractiveMode", backoffLimit=0),
    "a deadline to run": ray_job("dev", preRunningDeadlineSeconds=1),
    "the old RayCluster is deleted immediately": a_service({"rayClusterDeletionDelaySeconds": 0}),
    "deletion strategy": ray_job(
        "dev",
        deletionStrategy={"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {"policy": "DeleteCluster"}},
    ),
    "RayCluster": a_cluster({"upgradeStrategy": {"type": "Recreate"}}, name="c" * 53),
    "a group of one size": a_cluster(group(minReplicas=2, maxReplicas=2)),
    "labels": a_cluster(group(labels={"ray.io/zone": "a_1", "empty": ""})),
    "long labels": a_cluster(group(labels={f"{'a' * 253}/{'b' * 63}": "c" * 63})),
    "resources once": a_cluster(group(rayStartParams={"num-cpus": "1"})),
    "fault tolerance": a_cluster(OPTIONS),
    "fault tolerance by annotation": a_cluster(
        env(RAY_REDIS_ADDRESS="redis:6379"), annotations={"ray.io/ft-enabled": "true"}
    ),
    "tokens": a_cluster(TOKEN, {"rayVersion": "2.52.0"}),
    "Kubernetes tokens": a_cluster(K8S_TOKEN, {"rayVersion": "2.55.0"}),
    "a duration": a_service(annotations={"ray.io/initializing-timeout": "1h5m"}),
    "seconds": a_service(annotations={"ray.io/initializing-timeout": "300"}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_specs_that_kuberay_accepts(name: str) -> None:
    assert job(TAKEN[name]).ineligibility is None
