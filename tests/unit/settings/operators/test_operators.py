"""Stacks with conflicting settings of operators, each with its error message; and valid combinations."""

import json
from typing import Any

import pytest

from settings.load import parse
from tests.unit.settings.builders import EXISTING, FILE, GOOD, L4, TEAM_A, Case, put, refusal, with_engine
from tests.unit.settings.pools.builders import GB200, H200

DISABLED = {"type": "nvidia-l4", "count": 1, "driver": "disabled"}
SMALL = {"cpu": "100m", "memory": "128Mi"}
LARGE = {"cpu": 1, "memory": "1Gi"}
ON_SPOT = put("muster:pools", 0, "provisioning", "spot")


def engine(name: str, **operators: Any) -> dict[str, Any]:
    """Returns the valid stack with another engine, and settings of operators by section name."""
    sections = {f"muster:{section}": settings for section, settings in operators.items()}
    return with_engine(name) | sections


def driver_disabled(**operators: Any) -> dict[str, Any]:
    sections = {f"muster:{section}": settings for section, settings in operators.items()}
    return put(*L4, "gpu", DISABLED) | sections


CASES = [
    Case(
        "engine muster without its controller",
        put("muster:controller", None),
        "muster:controller",
        "nothing",
        "the controller, which engine muster requires",
        "add `muster:controller: {build: {}}` (or {image: …}), or choose engine: kueue",
    ),
    Case(
        "the add-on on an existing cluster",
        {**put("muster:kuberay", {"install": "addon"}), "muster:cluster": EXISTING},
        "muster:kuberay.install",
        '"addon"',
        "helm or existing: the add-on requires a GKE cluster that the stack creates",
        "write helm",
    ),
    Case(
        "the add-on next to KAI",
        engine("kai", kuberay={"install": "addon"}),
        "muster:kuberay.install",
        '"addon"',
        "helm or existing: KubeRay must run with --batch-scheduler=kai-scheduler, which GKE's Ray "
        "add-on does not support",
        "write helm, or choose another engine",
    ),
    Case(
        "a version of the add-on",
        put("muster:kuberay", {"install": "addon", "version": "1.6.2"}),
        "muster:kuberay.version",
        '"1.6.2"',
        "no value: install: addon does not use it",
        "remove `version`, or write install: helm",
    ),
    Case(
        "the add-on's logs without the add-on",
        put("muster:kuberay", {"addon": {"logging": False}}),
        "muster:kuberay.addon",
        '{"logging": false}',
        "no value: with install: helm there is no add-on",
        "remove `addon`, or write install: addon",
    ),
    Case(
        "a tenant's namespace that KubeRay does not watch",
        put("muster:kuberay", {"watchNamespaces": ["team-b"]}),
        "muster:kuberay.watchNamespaces",
        '["team-b"]',
        "all tenants' namespaces: KubeRay would ignore the jobs of team-a",
        "add team-a, or remove `watchNamespaces` to watch all namespaces",
    ),
    Case(
        "an unknown feature gate of KubeRay",
        put("muster:kuberay", {"featureGates": {"RayCronJobs": True}}),
        "muster:kuberay.featureGates.RayCronJobs",
        '"RayCronJobs"',
        "one of AsyncJobInfoQuery, GCSFaultToleranceEmbeddedStorage, RayClusterHistoryServer, "
        "RayClusterMTLS, RayClusterNetworkPolicy, RayClusterStatusConditions, RayCronJob, "
        "RayJobDeletionPolicy, RayMultiHostIndexing, RayServiceIncrementalUpgrade, SidecarSubmitterRestart",
        "did you mean RayCronJob?",
    ),
    Case(
        "a feature gate of a later KubeRay",
        put("muster:kuberay", {"version": "1.6.2", "featureGates": {"RayClusterMTLS": True}}),
        "muster:kuberay.featureGates.RayClusterMTLS",
        "true",
        "a feature gate of KubeRay 1.6.2: 1.7.0 adds it",
        "remove it, or set muster:kuberay.version to 1.7.0",
    ),
    Case(
        "a feature gate of an earlier KubeRay",
        put("muster:kuberay", {"version": "1.7.0", "featureGates": {"AsyncJobInfoQuery": True}}),
        "muster:kuberay.featureGates.AsyncJobInfoQuery",
        "true",
        "a feature gate of KubeRay 1.7.0: 1.7.0 removed it",
        "remove it",
    ),
    Case(
        "RayServices of KubeRay 1.7 with Kueue",
        engine("kueue", kuberay={"version": "1.7.0"}),
        "muster:kuberay.version",
        '"1.7.0"',
        "a version before 1.7.0: Kueue resumes a RayService by rayClusterConfig.suspend, which KubeRay 1.7 "
        "reads only when it creates a cluster",
        "write 1.6.2, or remove ray.io/rayservice from muster:kueue.frameworks",
    ),
    Case(
        "an image by digest alone",
        put("muster:kuberay", {"image": f"quay.io/kuberay/operator@sha256:{'0' * 64}"}),
        "muster:kuberay.image",
        f'"quay.io/kuberay/operator@sha256:{"0" * 64}"',
        "an image with a tag: the chart joins repository and tag with a colon",
        "write repository:1.2.3, or repository:1.2.3@sha256:… to pin the digest too",
    ),
    Case(
        "requests above the limits",
        put("muster:kuberay", {"resources": {"requests": LARGE, "limits": SMALL | {"memory": "2Gi"}}}),
        "muster:kuberay.resources",
        '{"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "100m", "memory": "2Gi"}}',
        "requests.cpu of at most limits.cpu (Kubernetes)",
        "lower the request or raise the limit",
    ),
    Case(
        "half of the limits",
        put("muster:kuberay", {"resources": {"requests": SMALL, "limits": {"memory": "1Gi"}}}),
        "muster:kuberay.resources.limits.cpu",
        "nothing",
        "a value: this key is required",
        "add `cpu`",
    ),
    Case(
        "Kueue's replicas without Kueue",
        put("muster:kueue", {"replicas": 3}),
        "muster:kueue.replicas",
        "3",
        "no value: engine muster installs Kueue's CRDs only",
        "remove `replicas`, or write engine: kueue",
    ),
    Case(
        "Kueue's version next to KAI",
        engine("kai", kueue={"version": "0.19.2"}),
        "muster:kueue.version",
        '"0.19.2"',
        "no value: engine kai does not install Kueue",
        "remove `version`, or write engine: kueue",
    ),
    Case(
        "the version of an existing Kueue",
        engine("kueue", kueue={"install": "existing", "version": "0.19.2"}),
        "muster:kueue.version",
        '"0.19.2"',
        "no value: Kueue is already installed",
        "remove `version`, or write install: upstream",
    ),
    Case(
        "Kueue without RayClusters",
        engine("kueue", kueue={"frameworks": ["batch/job", "ray.io/rayjob"]}),
        "muster:kueue.frameworks",
        '["batch/job", "ray.io/rayjob"]',
        "a list with ray.io/rayjob, ray.io/raycluster, batch/job, jobset.x-k8s.io/jobset: queued ones are "
        "suspended at creation, and only Kueue unsuspends them",
        "add ray.io/raycluster, jobset.x-k8s.io/jobset",
    ),
    Case(
        "an unknown framework",
        engine("kueue", kueue={"frameworks": ["ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservce"]}),
        "muster:kueue.frameworks[2]",
        '"ray.io/rayservce"',
        "one of batch/job, deployment, jobset.x-k8s.io/jobset, kubeflow.org/jaxjob, kubeflow.org/mpijob, "
        "kubeflow.org/paddlejob, kubeflow.org/pytorchjob, kubeflow.org/tfjob, kubeflow.org/xgboostjob, "
        "leaderworkerset.x-k8s.io/leaderworkerset, pod, ray.io/raycluster, ray.io/rayjob, ray.io/rayservice, "
        "sparkoperator.k8s.io/sparkapplication, statefulset, trainer.kubeflow.org/trainjob, "
        "workload.codeflare.dev/appwrapper",
        "did you mean ray.io/rayservice?",
    ),
    Case(
        "a feature gate in lower case",
        engine("kueue", kueue={"featureGates": {"partialAdmission": True}}),
        "muster:kueue.featureGates.partialAdmission",
        '"partialAdmission"',
        "the name of a feature gate",
        "write it as in the operator's documentation, in CamelCase",
    ),
    Case(
        "a feature gate that the version of Kueue does not have",
        engine("kueue", kueue={"featureGates": {"PartialAdmision": False}}),
        "muster:kueue.featureGates.PartialAdmision",
        "false",
        "a feature gate of Kueue 0.19.2 (pkg/features/kube_features.go)",
        "did you mean PartialAdmission?",
    ),
    Case(
        "a weight without Kueue's fair sharing",
        put(*TEAM_A, "weight", 2) | {"muster:admission": {"engine": "kueue"}},
        "muster:queues.clusterQueues[0].weight",
        "2",
        "no weight: it has no effect without `fairSharing` in `muster:kueue`",
        "remove it, or add `muster:kueue: {fairSharing: {}}`",
    ),
    Case(
        "KAI's placement without KAI",
        put("muster:kai", {"placement": "spread"}),
        "muster:kai.placement",
        '"spread"',
        "no value: engine muster does not install KAI Scheduler",
        "remove `placement`, or write engine: kai",
    ),
    Case(
        "the version of an existing KAI",
        engine("kai", kai={"install": "existing", "version": "0.12.0"}),
        "muster:kai.version",
        '"0.12.0"',
        "no value: KAI Scheduler is already installed",
        "remove `version`, or write install: helm",
    ),
    Case(
        "a floating version of KAI",
        engine("kai", kai={"version": "latest"}),
        "muster:kai.version",
        '"latest"',
        "a full version without 'v'",
        "pin a release by all three numbers, such as 1.6.2",
    ),
    Case(
        "drivers from GKE and from the GPU Operator",
        put("muster:gpuOperator", {"install": "helm"}),
        "muster:pools[1].gpu.driver",
        "nothing",
        "disabled: the GPU Operator is installed, and GKE's driver and device plugin would conflict "
        'with it (NVIDIA, "NVIDIA GPU Operator with Google GKE")',
        "write driver: disabled, or remove `muster:gpuOperator`",
    ),
    Case(
        "no driver for the GPUs",
        driver_disabled(),
        "muster:pools[1].gpu.driver",
        '"disabled"',
        "default or latest: nothing else installs a driver, so the nodes would offer no GPUs",
        "write latest, or add `muster:gpuOperator: {install: helm}`",
    ),
    Case(
        "the GPU Operator on an existing cluster",
        {**driver_disabled(gpuOperator={"install": "helm"}), "muster:cluster": EXISTING},
        "muster:gpuOperator.install",
        '"helm"',
        "none or existing: the stack configures the operator for GKE's nodes only",
        "install it yourself and write existing",
    ),
    Case(
        "a version of JobSet that nothing installs",
        put("muster:jobset", {"install": "existing", "version": "0.11.0"}),
        "muster:jobset.version",
        '"0.11.0"',
        "no value: install: existing installs nothing",
        "remove `version`, or write install: helm",
    ),
    Case(
        "a version of LeaderWorkerSet that nothing installs",
        put("muster:lws", {"install": "existing", "version": "0.8.0"}),
        "muster:lws.version",
        '"0.8.0"',
        "no value: install: existing installs nothing",
        "remove `version`, or write install: helm",
    ),
    Case(
        "MIG without the GPU Operator",
        put("muster:gpuOperator", {"migStrategy": "mixed"}),
        "muster:gpuOperator.migStrategy",
        '"mixed"',
        "no value: install: none installs nothing",
        "remove `migStrategy`, or write install: helm",
    ),
    Case(
        "a commit of installers that nothing installs",
        put("muster:gpudirect", {"install": "none", "commit": "0" * 40}),
        "muster:gpudirect.commit",
        f'"{"0" * 40}"',
        "no value: install: none installs nothing",
        "remove `commit`, or write install: manifests",
    ),
    Case(
        "a branch in place of a commit",
        put("muster:gpudirect", {"commit": "master"}),
        "muster:gpudirect.commit",
        '"master"',
        "a whole commit: 40 of 0-9 and a-f",
        "write `git rev-parse` of it",
    ),
    Case(
        "two installers of one name",
        put(
            "muster:pools",
            [
                *GOOD["muster:pools"],
                {**H200, "name": "h200", "dranet": True},
                {**GB200, "name": "gb200", "dranet": True},
            ],
        ),
        "muster:pools[3].dranet",
        "true",
        "no value: a4x and other pools with RDMA need two installers of one name, nccl-rdma-installer "
        "(container-engine-accelerators, gpudirect-rdma)",
        "use another cluster, or install both yourself and write muster:gpudirect: {install: none}",
    ),
    Case(
        "operators on spot nodes",
        ON_SPOT,
        "muster:pools",
        json.dumps(ON_SPOT["muster:pools"]),
        "an on-demand pool without accelerators, for KubeRay and the other operators",
        "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_conflicting_operators_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


# Valid counterparts of the cases above.
ACCEPTED = {
    "the add-on with its own settings": put(
        "muster:kuberay", {"install": "addon", "addon": {"monitoring": False}}
    ),
    "KAI next to KubeRay's chart": engine("kai", kai={"gpuSharing": True}),
    "KAI next to an existing KubeRay": engine("kai", kuberay={"install": "existing"}),
    "every tenant watched": put("muster:kuberay", {"watchNamespaces": ["team-a", "team-b"]}),
    "another version of Kueue's API": put("muster:kueue", {"version": "0.18.0"}),
    "Kueue's retention": engine("kueue", kueue={"retention": {"afterFinishedSeconds": 0}}),
    "Kueue configured": engine("kueue", kueue={"replicas": 2, "waitForPodsReady": {"timeoutSeconds": 600}}),
    "feature gates of another version of Kueue": engine(
        "kueue", kueue={"version": "0.18.0", "featureGates": {"Unknown": True}}
    ),
    "weights with fair sharing": put(*TEAM_A, "weight", 2)
    | {"muster:admission": {"engine": "kueue"}, "muster:kueue": {"fairSharing": {}}},
    "weights with Muster's fair sharing": put(*TEAM_A, "weight", 2)
    | {"muster:controller": {**GOOD["muster:controller"], "fairSharing": {}}},
    "Muster preempts to borrow": put(
        *TEAM_A, "preemption", {"reclaimWithinCohort": "Any", "borrowWithinCohort": {}}
    ),
    "weights for an existing Kueue": put(*TEAM_A, "weight", 2)
    | {"muster:admission": {"engine": "kueue"}, "muster:kueue": {"install": "existing"}},
    "the GPU Operator without GKE's drivers": driver_disabled(gpuOperator={"install": "helm"}),
    "an existing GPU Operator": driver_disabled(gpuOperator={"install": "existing"}),
    "drivers of an existing cluster": {**driver_disabled(), "muster:cluster": EXISTING},
    "KubeRay 1.7": put("muster:kuberay", {"version": "1.7.0", "featureGates": {"RayClusterMTLS": True}}),
    "KubeRay 1.7 with Kueue, without RayServices": engine(
        "kueue",
        kuberay={"version": "1.7.0"},
        kueue={"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "ray.io/rayjob", "ray.io/raycluster"]},
    ),
    "an image with tag and digest": put(
        "muster:kuberay", {"image": f"quay.io/kuberay/operator:v1.6.2@sha256:{'0' * 64}"}
    ),
}


@pytest.mark.parametrize("config", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_valid_operators_are_accepted(config: dict[str, Any]) -> None:
    parse(config, FILE)


def test_operators_run_on_the_first_on_demand_pool_without_taints() -> None:
    pools = [GOOD["muster:pools"][1], {**GOOD["muster:pools"][0], "name": "cpu", "flavor": "spare"}]
    settings = parse({**GOOD, "muster:pools": [*pools, GOOD["muster:pools"][0]]}, FILE)

    assert settings.system_pool is settings.pools[1]
