"""Values of the charts in the Go modules of operators, rendered by the real Helm.

The chart must use every value that a stack sets: Helm ignores unknown values silently.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.operators import jobset, kai, kueue, lws
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from settings.manifests.configuration import kueue_configuration
from settings.model.operators.jobset import JOBSET_COMMITS, JOBSET_VERSION, JobSet
from settings.model.operators.kai import Kai
from settings.model.operators.kuberay import KUBERAY_COMMITS, KUBERAY_VERSION
from settings.model.operators.kueue import KUEUE_COMMIT, KUEUE_VERSION, Kueue
from settings.model.operators.kueue_gates import KUEUE_GATES
from settings.model.operators.lws import LWS_COMMITS, LWS_VERSION, LeaderWorkerSet
from settings.model.queues.devices import DeviceClassMapping
from tests.stacks.charts import ChartFolder, Object, the
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.steps import Screen
from tools.toolchain.tools import KAI_MODULE

SYSTEM = {"cloud.google.com/gke-nodepool": "system"}
DIGEST = f"sha256:{'a' * 64}"
DEVICE_CLASSES = (
    DeviceClassMapping.model_validate({"name": "nvidia.com/gpu", "deviceClassNames": ("gpu.nvidia.com",)}),
)
EVERY_KUEUE_SETTING = Kueue.model_validate(
    {
        "image": f"registry.example/kueue:v0.19.2@{DIGEST}",
        "replicas": 1,
        "client": {"qps": 1000, "burst": 2000},
        "frameworks": ("batch/job", "ray.io/rayjob", "ray.io/raycluster", "jobset.x-k8s.io/jobset"),
        "waitForPodsReady": {
            "timeoutSeconds": 600,
            "recoveryTimeoutSeconds": 120,
            "blockAdmission": True,
            "requeuing": {"timestamp": "Creation", "limit": 5, "baseSeconds": 30, "maxSeconds": 600},
        },
        "fairSharing": {"preemptionStrategies": ("LessThanInitialShare",)},
        "admissionFairSharing": {
            "usageHalfLifeSeconds": 86400,
            "usageSamplingSeconds": 60,
            "resourceWeights": {"nvidia.com/gpu": 1000, "memory": 0},
        },
        "retention": {"afterFinishedSeconds": 86400, "afterDeactivatedSeconds": 0},
        "excludeResourcePrefixes": ("networking.gke.io/",),
        "transformations": (
            {
                "input": "nvidia.com/mig-1g.5gb",
                "strategy": "Replace",
                "multiplyBy": "cpu",
                "outputs": {"example.com/gpu-memory": "5Gi"},
            },
            {"input": "cpu"},
        ),
        "managedNamespaces": {"muster.dev/tenant": "true"},
        "featureGates": {"PartialAdmission": False},
    }
)
EVERY_KAI_SETTING = Kai.model_validate(
    {"registry": "registry.example/kai", "replicas": 2, "placement": "spread", "gpuSharing": True}
)


@pytest.fixture(scope="module")
def helm() -> Path:
    return ensure_tools(["helm"], Screen())["helm"].path


@pytest.fixture(scope="module")
def kueue_chart(helm: Path) -> ChartFolder:
    module = module_directory(find_go(), "kueue", "sigs.k8s.io/kueue")
    return ChartFolder(helm, module / "charts" / "kueue", "kueue", kueue.NAMESPACE)


@pytest.fixture(scope="module")
def jobset_chart(helm: Path) -> ChartFolder:
    module = module_directory(find_go(), "jobset", "sigs.k8s.io/jobset")
    return ChartFolder(helm, module / "charts" / "jobset", "jobset", jobset.NAMESPACE)


@pytest.fixture(scope="module")
def lws_chart(helm: Path) -> ChartFolder:
    module = module_directory(find_go(), "lws", "sigs.k8s.io/lws")
    return ChartFolder(helm, module / "charts" / "lws", "lws", lws.NAMESPACE)


@pytest.fixture(scope="module")
def kai_chart(helm: Path) -> ChartFolder:
    module = module_directory(find_go(), "kai", KAI_MODULE)
    return ChartFolder(helm, module / "deployments" / "kai-scheduler", "kai-scheduler", kai.NAMESPACE)


@pytest.fixture(scope="module")
def every_kueue_object(kueue_chart: ChartFolder) -> list[Object]:
    return kueue_chart.render(kueue.values(EVERY_KUEUE_SETTING, SYSTEM, DEVICE_CLASSES))


@pytest.fixture(scope="module")
def every_kai_object(kai_chart: ChartFolder) -> list[Object]:
    return kai_chart.render(kai.values(EVERY_KAI_SETTING, SYSTEM, ""))


@pytest.fixture
def served(cluster: Kubectl, kai_chart: ChartFolder) -> Iterator[Kubectl]:
    """The cluster with the CRDs of KAI's chart, which Helm would install before its templates."""
    before = set(cluster.run("get", "crd", "-o", "name").split())
    applied = cluster.run(
        *("apply", "--server-side", "--force-conflicts", "-f", str(kai_chart.path / "crds"), "-o", "name")
    ).split()
    wait_until("KAI's kinds", lambda: all(is_established(cluster, name) for name in applied), 30.0)
    yield cluster
    cluster.run("delete", "--wait=false", *set(applied) - before)  # it can take a minute on a busy machine


def is_established(cluster: Kubectl, name: str) -> bool:
    conditions = json.loads(cluster.run("get", name, "-o", "json")).get("status", {}).get("conditions") or []
    return any(
        (condition["type"], condition["status"]) == ("Established", "True") for condition in conditions
    )


def test_feature_gates_are_those_of_the_pinned_kueue() -> None:
    source = (
        module_directory(find_go(), "kueue", "sigs.k8s.io/kueue") / "pkg" / "features" / "kube_features.go"
    )
    declared = re.findall(r"(?m)^\s+([A-Z]\w+) featuregate\.Feature = ", source.read_text())

    assert set(declared) == KUEUE_GATES


@pytest.mark.parametrize(
    ("tool", "module", "version", "commit"),
    [
        (
            "kuberay",
            "github.com/ray-project/kuberay/ray-operator",
            KUBERAY_VERSION,
            KUBERAY_COMMITS[KUBERAY_VERSION],
        ),
        ("kueue", "sigs.k8s.io/kueue", KUEUE_VERSION, KUEUE_COMMIT),
        ("jobset", "sigs.k8s.io/jobset", JOBSET_VERSION, JOBSET_COMMITS[JOBSET_VERSION]),
        ("lws", "sigs.k8s.io/lws", LWS_VERSION, LWS_COMMITS[LWS_VERSION]),
    ],
    ids=["KubeRay", "Kueue", "JobSet", "LeaderWorkerSet"],
)
def test_the_commit_of_crds_is_that_of_the_version(tool: str, module: str, version: str, commit: str) -> None:
    """Go's module cache has the commit of each version's tag."""
    folder = module_directory(find_go(), tool, module)
    cache = Path(str(folder).removesuffix(f"{module}@v{version}")) / "cache" / "download"
    origin = json.loads((cache / module / "@v" / f"v{version}.info").read_text())["Origin"]

    assert origin["Hash"] == commit


def test_jobsets_chart_runs_the_image_of_the_version(jobset_chart: ChartFolder) -> None:
    settings = JobSet.model_validate({"install": "helm", "replicas": 2, "client": {"qps": 50, "burst": 90}})
    chart_values = jobset.values(settings, SYSTEM)
    assert jobset_chart.unknown(chart_values) == []
    objects = jobset_chart.render(chart_values)
    deployment = the(objects, "Deployment", "jobset-controller")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert container["image"] == f"registry.k8s.io/jobset/jobset:v{JOBSET_VERSION}"
    assert (deployment["replicas"], deployment["template"]["spec"]["nodeSelector"]) == (2, SYSTEM)
    ports = {port["containerPort"] for port in container["ports"]}
    assert {9443, 8443} <= ports, "the NetworkPolicy opens these ports"
    (text,) = the(objects, "ConfigMap", "jobset-controller-config")["data"].values()
    assert yaml.safe_load(text)["clientConnection"] == {"qps": 50, "burst": 90}


def test_the_chart_of_leader_worker_sets_runs_the_image_of_the_version(lws_chart: ChartFolder) -> None:
    settings = LeaderWorkerSet.model_validate({"install": "helm", "replicas": 2})
    chart_values = lws.values(settings, SYSTEM)
    assert lws_chart.unknown(chart_values) == []
    deployment = the(lws_chart.render(chart_values), "Deployment", "lws-controller-manager")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert container["image"] == f"registry.k8s.io/lws/lws:v{LWS_VERSION}"
    assert (deployment["replicas"], deployment["template"]["spec"]["nodeSelector"]) == (2, SYSTEM)
    ports = {port["containerPort"] for port in container["ports"]}
    # The NetworkPolicy also opens the port of metrics, which the chart declares with cert-manager only
    # (enablePrometheus); the controller listens on it in any case (DefaultMetricsBindAddress).
    assert ports == {9443}


@pytest.mark.parametrize("settings", [Kueue(), EVERY_KUEUE_SETTING], ids=["as it comes", "every setting"])
def test_kueues_chart_knows_every_value(kueue_chart: ChartFolder, settings: Kueue) -> None:
    assert kueue_chart.unknown(kueue.values(settings, SYSTEM)) == []


@pytest.mark.parametrize("settings", [Kai(), EVERY_KAI_SETTING], ids=["as it comes", "every setting"])
def test_kais_chart_knows_every_value(kai_chart: ChartFolder, settings: Kai) -> None:
    assert kai_chart.unknown(kai.values(settings, SYSTEM, "nvidia")) == []


def test_an_unknown_value_is_found(kueue_chart: ChartFolder) -> None:
    wrong = {
        "controllerManager": {"replica": 2, "manager": {"image": {"digest": DIGEST}}},
        "nodeSelector": {},
    }

    assert kueue_chart.unknown(wrong) == [
        "controllerManager.replica",
        "controllerManager.manager.image.digest",
        "nodeSelector",
    ]


def test_kueue_runs_as_the_settings_say(kueue_chart: ChartFolder) -> None:
    objects = kueue_chart.render(kueue.values(Kueue(), SYSTEM))
    spec = the(objects, "Deployment", "kueue-controller-manager")["spec"]
    pod = spec["template"]["spec"]

    assert spec["replicas"] == 2
    assert pod["nodeSelector"] == SYSTEM
    (container,) = pod["containers"]
    assert container["image"] == "registry.k8s.io/kueue/kueue:v0.19.2"
    assert container["resources"] == {
        "requests": {"cpu": "500m", "memory": "512Mi"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }
    budget = the(objects, "PodDisruptionBudget", "kueue-manager-pdb")
    assert budget["spec"]["minAvailable"] == 1


def test_a_single_kueue_can_be_drained(every_kueue_object: list[Object]) -> None:
    deployment = the(every_kueue_object, "Deployment", "kueue-controller-manager")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert container["image"] == f"registry.example/kueue:v0.19.2@{DIGEST}"
    assert "PodDisruptionBudget" not in {obj["kind"] for obj in every_kueue_object}


def test_kueues_configuration_comes_from_the_settings(every_kueue_object: list[Object]) -> None:
    data = the(every_kueue_object, "ConfigMap", "kueue-manager-config")["data"]
    read = yaml.safe_load(data["controller_manager_config.yaml"])

    certificates = read.pop("internalCertManagement")
    assert certificates["webhookServiceName"] == "kueue-webhook-service"  # the chart adds its own
    assert read == kueue_configuration(EVERY_KUEUE_SETTING, DEVICE_CLASSES)
    assert read["integrations"]["frameworks"] == list(EVERY_KUEUE_SETTING.frameworks)
    assert read["waitForPodsReady"] == {
        "timeout": "600s",
        "recoveryTimeout": "120s",
        "blockAdmission": True,
        "requeuingStrategy": {
            "timestamp": "Creation",
            "backoffLimitCount": 5,
            "backoffBaseSeconds": 30,
            "backoffMaxSeconds": 600,
        },
    }
    assert read["fairSharing"] == {"preemptionStrategies": ["LessThanInitialShare"]}
    assert read["admissionFairSharing"] == {
        "usageHalfLifeTime": "86400s",
        "usageSamplingInterval": "60s",
        "resourceWeights": {"nvidia.com/gpu": 1000, "memory": 0},
    }
    retention = {"afterFinished": "86400s", "afterDeactivatedByKueue": "0s"}
    assert read["objectRetentionPolicies"] == {"workloads": retention}
    assert read["resources"] == {
        "excludeResourcePrefixes": ["networking.gke.io/"],
        "transformations": [
            {
                "input": "nvidia.com/mig-1g.5gb",
                "strategy": "Replace",
                "multiplyBy": "cpu",
                "outputs": {"example.com/gpu-memory": "5Gi"},
            },
            {"input": "cpu", "strategy": "Retain", "outputs": {}},
        ],
        "deviceClassMappings": [{"name": "nvidia.com/gpu", "deviceClassNames": ["gpu.nvidia.com"]}],
    }
    assert read["managedJobsNamespaceSelector"] == {"matchLabels": {"muster.dev/tenant": "true"}}
    assert read["clientConnection"] == {"qps": 1000, "burst": 2000}
    assert read["featureGates"] == {"PartialAdmission": False}


@pytest.mark.parametrize("settings", [Kueue(), EVERY_KUEUE_SETTING], ids=["as it comes", "every setting"])
def test_kueue_accepts_the_configuration(settings: Kueue, tmp_path: Path) -> None:
    """Reads the first log line: Kueue checks the file before it connects to a cluster."""
    expected = kueue_configuration(settings, DEVICE_CLASSES) | {
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
    }

    assert '"Configuration loaded"' in first_line_of_kueue(expected, tmp_path)


def test_kueue_refuses_an_unknown_field(tmp_path: Path) -> None:
    output = first_line_of_kueue(kueue_configuration(Kueue()) | {"fairSharring": {}}, tmp_path)

    assert 'unknown field \\"fairSharring\\"' in output


def first_line_of_kueue(expected: Mapping[str, Any], folder: Path) -> str:
    (folder / "configuration.json").write_text(json.dumps(expected))
    nowhere = {"name": "nowhere", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "nowhere", "context": {"cluster": "nowhere", "user": ""}}
    (folder / "kubeconfig").write_text(
        json.dumps({"clusters": [nowhere], "contexts": [context], "current-context": "nowhere"})
    )
    executable = ensure_tools(["kueue"], Screen())["kueue"].path
    argv = [str(executable), "--config", str(folder / "configuration.json")]
    with subprocess.Popen(
        argv,
        env={"KUBECONFIG": str(folder / "kubeconfig")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.kill()
    return line


def test_kai_runs_as_the_settings_say(every_kai_object: list[Object]) -> None:
    operator = the(every_kai_object, "Deployment", "kai-operator")["spec"]
    (container,) = operator["template"]["spec"]["containers"]
    config = the(every_kai_object, "Config", "kai-config")["spec"]

    assert operator["replicas"] == config["global"]["replicaCount"] == 2
    assert operator["template"]["spec"]["nodeSelector"] == SYSTEM
    assert container["image"] == "registry.example/kai/operator:v0.12.0"
    assert "--leader-elect=true" in container["args"]
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "256Mi"}
    assert config["scheduler"]["service"]["image"] == {
        "name": "scheduler",
        "repository": "registry.example/kai",
        "tag": "v0.12.0",
        "pullPolicy": "IfNotPresent",
    }
    assert config["scheduler"]["service"]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert config["admission"]["gpuSharing"] is config["nodeScaleAdjuster"]["service"]["enabled"] is True
    assert the(every_kai_object, "SchedulingShard", "default")["spec"]["placementStrategy"] == {
        "gpu": "spread",
        "cpu": "spread",
    }


def test_kais_services_run_on_the_system_pool(every_kai_object: list[Object]) -> None:
    """The chart's nodeSelector does not apply to the pods of its operator."""
    config = the(every_kai_object, "Config", "kai-config")["spec"]
    node_affinity = config["global"]["affinity"]["nodeAffinity"]

    (term,) = node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "cloud.google.com/gke-nodepool", "operator": "In", "values": ["system"]}
    ]


@pytest.mark.parametrize("runtime_class", ["", "nvidia"])
def test_kais_runtime_class_is_the_settings(kai_chart: ChartFolder, runtime_class: str) -> None:
    """The default is `nvidia`, which GKE's nodes do not have: no pod with GPUs could be created."""
    config = the(kai_chart.render(kai.values(Kai(), SYSTEM, runtime_class)), "Config", "kai-config")["spec"]

    assert config["admission"]["gpuPodRuntimeClassName"] == runtime_class
    assert config["binder"]["resourceReservation"]["runtimeClassName"] == runtime_class


def test_kai_creates_no_default_queue(every_kai_object: list[Object]) -> None:
    assert "Queue" not in {obj["kind"] for obj in every_kai_object}


def test_the_api_server_accepts_the_rendered_charts(
    served: Kubectl, every_kueue_object: list[Object], every_kai_object: list[Object]
) -> None:
    """Uses dry runs in existing namespaces, as a dry run creates no namespace for later objects."""
    objects = [*every_kueue_object, *every_kai_object]
    namespaces = {body["metadata"]["name"] for body in objects if body["kind"] == "Namespace"}
    namespaces |= {kueue.NAMESPACE, kai.NAMESPACE}
    served.create(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces]
    )
    try:
        completed = served.run(
            *("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", "-o", "name"),
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
        )
    finally:
        served.run("delete", "namespace", *namespaces)
    assert len(completed.splitlines()) == len(objects)
