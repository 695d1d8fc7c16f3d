"""The operators: what is installed, in which order, and what is retained or unmanaged."""

from typing import Any

import pytest

from settings.model.operators.kuberay import KUBERAY_COMMITS, KUBERAY_VERSION
from settings.model.operators.kueue import KUEUE_COMMIT
from tests.unit.components.harness import declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, L4, put, with_engine, with_pool
from tests.unit.settings.pools.builders import GB200, GPUDIRECT_H100, GPUDIRECT_MEGA, H100, H200

SOURCE = "https://raw.githubusercontent.com"
KUEUE_CRDS = f"{SOURCE}/kubernetes-sigs/kueue/{KUEUE_COMMIT}/config/components/crd/bases"
# Arguments that all charts share: atomic, and with time for the system pool's first node.
RELEASE = {
    "atomic": True,
    "cleanupOnFail": True,
    "compat": "true",
    "disableOpenapiValidation": False,
    "maxHistory": 5,
    "skipCrds": False,
    "timeout": 600,
}
KUEUE = {"muster:admission": {"engine": "kueue"}}
GPUS_ALONE = put(*L4, "gpu", "driver", "disabled") | {"muster:gpuOperator": {"install": "helm"}}

# Config, release, and its arguments in addition to RELEASE and the values.
CHARTS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "KubeRay": (
        put("muster:kuberay", {"version": "1.5.0"}),
        "Release/kuberay-operator",
        {
            "chart": "kuberay-operator",
            "name": "kuberay-operator",
            "namespace": "kuberay-system",
            "repositoryOpts": {"repo": "https://ray-project.github.io/kuberay-helm/"},
            "skipCrds": True,
            "version": "1.5.0",
        },
    ),
    "JobSet": (
        put("muster:jobset", {"install": "helm"}),
        "Release/jobset",
        {
            "chart": "oci://registry.k8s.io/jobset/charts/jobset",
            "name": "jobset",
            "namespace": "jobset-system",
            "skipCrds": True,
            "version": "0.11.0",
        },
    ),
    "LeaderWorkerSet": (
        put("muster:lws", {"install": "helm"}),
        "Release/lws",
        {
            "chart": "oci://registry.k8s.io/lws/charts/lws",
            "name": "lws",
            "namespace": "lws-system",
            "skipCrds": True,
            "version": "0.8.0",
        },
    ),
    "Kueue": (
        with_engine("kueue"),
        "Release/kueue",
        {
            "chart": "oci://registry.k8s.io/kueue/charts/kueue",
            "name": "kueue",
            "namespace": "kueue-system",
            "version": "0.19.2",
        },
    ),
    "KAI Scheduler": (
        with_engine("kai"),
        "Release/kai-scheduler",
        {
            "chart": "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler",
            "name": "kai-scheduler",
            "namespace": "kai-scheduler",
            "version": "v0.12.0",
        },
    ),
    "GPU Operator": (
        GPUS_ALONE,
        "Release/gpu-operator",
        {
            "chart": "gpu-operator",
            "disableOpenapiValidation": True,
            "name": "gpu-operator",
            "namespace": "gpu-operator",
            "repositoryOpts": {"repo": "https://helm.ngc.nvidia.com/nvidia"},
            "version": "v26.7.0",
        },
    ),
}


@pytest.mark.parametrize(("config", "release", "arguments"), CHARTS.values(), ids=CHARTS.keys())
def test_releases_name_their_chart_and_version(
    config: dict[str, Any], release: str, arguments: dict[str, Any]
) -> None:
    inputs = declare_platform(config).inputs(release)

    assert {key: value for key, value in inputs.items() if key != "values"} == RELEASE | arguments


# Name of the case -> engine, ways to install, and the declared operators.
INSTALLED: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "engine muster needs Kueue's API only": (
        "muster",
        {},
        {
            "Release/kuberay-operator",
            "ConfigGroup/kuberay-definitions",
            "ConfigGroup/kueue-definitions",
            "Deployment/muster-controller",
        },
    ),
    "the JobSet controller where it is chosen": (
        "muster",
        {"muster:jobset": {"install": "helm"}, "muster:kuberay": {"install": "existing"}},
        {
            "Release/jobset",
            "ConfigGroup/jobset-definition",
            "ConfigGroup/kueue-definitions",
            "Deployment/muster-controller",
        },
    ),
    "the LeaderWorkerSet controller where it is chosen": (
        "muster",
        {"muster:lws": {"install": "helm"}, "muster:kuberay": {"install": "existing"}},
        {
            "Release/lws",
            "ConfigGroup/lws-definition",
            "ConfigGroup/kueue-definitions",
            "Deployment/muster-controller",
        },
    ),
    "engine kueue needs Kueue": (
        "kueue",
        {},
        {"Release/kuberay-operator", "ConfigGroup/kuberay-definitions", "Release/kueue"},
    ),
    "engine kai needs KAI": (
        "kai",
        {},
        {"Release/kuberay-operator", "ConfigGroup/kuberay-definitions", "Release/kai-scheduler"},
    ),
    "existing operators are unmanaged": (
        "muster",
        {"muster:kuberay": {"install": "existing"}, "muster:kueue": {"install": "existing"}},
        {"Deployment/muster-controller"},
    ),
    "Kueue too": (
        "kueue",
        {"muster:kuberay": {"install": "existing"}, "muster:kueue": {"install": "existing"}},
        set(),
    ),
    "and KAI": (
        "kai",
        {"muster:kuberay": {"install": "existing"}, "muster:kai": {"install": "existing"}},
        set(),
    ),
}


@pytest.mark.parametrize(("engine", "more", "installed"), INSTALLED.values(), ids=INSTALLED.keys())
def test_the_engine_decides_which_operators_are_installed(
    engine: str, more: dict[str, Any], installed: set[str]
) -> None:
    declared = declare_platform(with_engine(engine) | more)

    assert set(declared.kinds("Release", "ConfigGroup", "Deployment")) == installed


def test_the_gpu_operator_is_installed_only_if_set() -> None:
    declared = declare_platform(GPUS_ALONE)

    assert {"Release/gpu-operator", "ConfigGroup/gpu-driver-installer"} <= set(declared)
    assert "GpuOperator/gpu-operator" not in declare_platform(put("muster:gpuOperator", {"install": "none"}))


def test_kuberays_crds_come_before_the_operator_and_are_retained() -> None:
    declared = declare_platform(put("muster:kuberay", {"version": "1.6.2"}))
    definitions, release = declared["ConfigGroup/kuberay-definitions"], declared["Release/kuberay-operator"]

    commit = KUBERAY_COMMITS[KUBERAY_VERSION]
    folder = f"{SOURCE}/ray-project/kuberay/{commit}/helm-chart/kuberay-operator/crds"
    assert definitions.inputs["files"] == [
        f"{folder}/ray.io_{plural}.yaml" for plural in ("rayclusters", "rayjobs", "rayservices")
    ]
    assert definitions.retain_on_delete
    assert "ConfigGroup/kuberay-definitions" in release.depends_on
    assert (release.retain_on_delete, release.protect) == (False, False)


def test_crds_of_another_version_are_those_of_its_tag() -> None:
    config = put("muster:kuberay", {"version": "1.5.1"})
    config["muster:kueue"] = {"version": "0.18.0"}
    declared = declare_platform(config)

    for name, tag in (("kuberay-definitions", "kuberay/v1.5.1/"), ("kueue-definitions", "kueue/v0.18.0/")):
        assert all(tag in file for file in declared.inputs(f"ConfigGroup/{name}")["files"])


def test_a_feature_gates_crd_is_installed_with_it() -> None:
    config = put("muster:kuberay", {"featureGates": {"RayCronJob": True, "AsyncJobInfoQuery": False}})
    declared = declare_platform(config)

    assert declared.inputs("ConfigGroup/kuberay-definitions")["files"][-1].endswith(
        "/ray.io_raycronjobs.yaml"
    )
    assert declared.inputs("Release/kuberay-operator")["values"]["featureGates"] == [
        {"name": "AsyncJobInfoQuery", "enabled": False},
        {"name": "RayCronJob", "enabled": True},
    ]


def test_kueues_crds_are_pinned_and_retained() -> None:
    definitions = declare_platform(with_engine("muster"))["ConfigGroup/kueue-definitions"]

    assert definitions.retain_on_delete
    assert definitions.inputs["files"] == [
        f"{KUEUE_CRDS}/kueue.x-k8s.io_{plural}.yaml"
        for plural in (
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "provisioningrequestconfigs",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
            "workloads",
        )
    ]


@pytest.mark.parametrize("protected", [True, False])
def test_kueues_release_is_protected_as_the_cluster_is(protected: bool) -> None:
    config = put("muster:cluster", "deletionProtection", protected) | KUEUE

    assert declare_platform(config)["Release/kueue"].protect is protected


def test_gke_installs_no_driver_with_the_gpu_operator() -> None:
    node = declare_platform(GPUS_ALONE).inputs("NodePool/l4")["nodeConfig"]

    assert node["labels"]["gke-no-default-nvidia-gpu-device-plugin"] == "true"
    (gpu,) = node["guestAccelerators"]
    assert gpu["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "INSTALLATION_DISABLED"}


def test_the_gpu_operator_has_a_driver_installer_and_a_quota() -> None:
    declared = declare_platform(GPUS_ALONE)
    release = declared["Release/gpu-operator"]

    assert {
        "ResourceQuota/gpu-operator-critical-pods",
        "ConfigGroup/gpu-driver-installer",
    } <= release.depends_on
    assert declared["ResourceQuota/gpu-operator-critical-pods"].depends_on >= {"Namespace/gpu-operator"}
    assert declared.spec("ResourceQuota/gpu-operator-critical-pods") == {
        "hard": {"pods": "5000"},
        "scopeSelector": {
            "matchExpressions": [
                {
                    "operator": "In",
                    "scopeName": "PriorityClass",
                    "values": ["system-node-critical", "system-cluster-critical"],
                }
            ]
        },
    }
    assert declared.inputs("ConfigGroup/gpu-driver-installer")["files"] == [
        f"{SOURCE}/GoogleCloudPlatform/container-engine-accelerators/992db81257553607f1477945f1b3219632991829/"
        "nvidia-driver-installer/cos/daemonset-preloaded.yaml"
    ]


INSTALLERS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "TCPX": (
        [GPUDIRECT_H100],
        ["gpudirect-tcpx/nccl-tcpx-installer.yaml", "nri_device_injector/nri-device-injector.yaml"],
    ),
    "TCPX and TCPXO: one injector": (
        [GPUDIRECT_H100, GPUDIRECT_MEGA],
        [
            "gpudirect-tcpx/nccl-tcpx-installer.yaml",
            "nri_device_injector/nri-device-injector.yaml",
            "gpudirect-tcpxo/nccl-tcpxo-installer.yaml",
        ],
    ),
    "RDMA": ([{**H200, "name": "h200", "dranet": True}], ["gpudirect-rdma/nccl-rdma-installer.yaml"]),
    "RDMA of Arm machines": (
        [{**GB200, "name": "gb200", "dranet": True}],
        ["gpudirect-rdma/nccl-rdma-installer-a4x.yaml"],
    ),
}


@pytest.mark.parametrize(("pools", "files"), INSTALLERS.values(), ids=INSTALLERS.keys())
def test_nccl_plugins_of_the_pools_are_installed_at_a_commit(
    pools: list[dict[str, Any]], files: list[str]
) -> None:
    commit = "0123456789" * 4
    stack = {**GOOD, "muster:network": {"name": "ray"}, "muster:gpudirect": {"commit": commit}}
    declared = declare_platform({**stack, "muster:pools": [*GOOD["muster:pools"], *pools]})

    folder = f"{SOURCE}/GoogleCloudPlatform/container-engine-accelerators/{commit}"
    assert declared.inputs("ConfigGroup/nccl-installers")["files"] == [f"{folder}/{file}" for file in files]


WITHOUT_INSTALLERS: dict[str, dict[str, Any]] = {
    "no GPUDirect": GOOD,
    "DRANET without RDMA": with_pool({**H100, "dranet": True}),
    "installed by something else": {
        **with_pool({**H200, "dranet": True}),
        "muster:gpudirect": {"install": "none"},
    },
    "a pool in a cluster elsewhere": {
        **GOOD,
        "muster:cluster": EXISTING,
        "muster:pools": [*GOOD["muster:pools"], {**H200, "name": "h200", "dranet": True}],
    },
    "a pool made elsewhere": {
        **GOOD,
        "muster:cluster": {**EXISTING, "gke": {"location": "us-west1-b"}},
        "muster:pools": [
            *GOOD["muster:pools"],
            {**H200, "name": "h200", "dranet": True, "existing": True},
        ],
    },
}


@pytest.mark.parametrize("config", WITHOUT_INSTALLERS.values(), ids=WITHOUT_INSTALLERS.keys())
def test_no_plugins_are_installed_where_no_pool_needs_them(config: dict[str, Any]) -> None:
    assert "ConfigGroup/nccl-installers" not in declare_platform(config)


# Release -> its namespace, Pod Security Standard, ports open to all, and ports open to Prometheus.
NAMESPACES: dict[str, tuple[str, str, list[int], list[int]]] = {
    "KubeRay": ("kuberay-system", "restricted", [], [8080]),
    "Kueue": ("kueue-system", "restricted", [9443, 8082], [8443]),
    "KAI Scheduler": ("kai-scheduler", "baseline", [9443], [8080]),
    "GPU Operator": ("gpu-operator", "privileged", [], [8080, 9400]),
}


@pytest.mark.parametrize("chart", NAMESPACES)
def test_an_operators_namespace_opens_its_ports_only(chart: str) -> None:
    namespace, level, served, metrics = NAMESPACES[chart]
    config, release, _ = CHARTS[chart]
    declared = declare_platform(config)
    policy = declared.spec(f"NetworkPolicy/{namespace}/default-deny")

    labels = declared.inputs(f"Namespace/{namespace}")["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": level}
    assert (policy["podSelector"], policy["policyTypes"]) == ({}, ["Ingress"])
    open_to = {"from" in rule: [port["port"] for port in rule["ports"]] for rule in policy["ingress"]}
    assert open_to == {is_metrics: ports for is_metrics, ports in ((False, served), (True, metrics)) if ports}
    assert {f"Namespace/{namespace}", f"NetworkPolicy/{namespace}/default-deny"} <= declared[
        release
    ].depends_on


@pytest.mark.parametrize("chart", CHARTS)
def test_operators_wait_for_the_pools(chart: str) -> None:
    config, release, _ = CHARTS[chart]

    assert declare_platform(config)[release].depends_on >= {"NodePool/system", "NodePool/l4"}


# Engine -> KubeRay's batch scheduler.
@pytest.mark.parametrize(("engine", "name"), [("muster", ""), ("kueue", ""), ("kai", "kai-scheduler")])
def test_kuberays_batch_scheduler_is_the_engines(engine: str, name: str) -> None:
    values = declare_platform(with_engine(engine)).inputs("Release/kuberay-operator")["values"]

    assert values["batchScheduler"] == {"name": name}


def test_kai_sets_a_runtime_class_only_with_the_gpu_operator() -> None:
    def runtime_class(config: dict[str, Any]) -> str:
        values = declare_platform(config).inputs("Release/kai-scheduler")["values"]
        return str(values["admission"]["gpuPodRuntimeClassName"])

    assert runtime_class(with_engine("kai")) == '""'
    with_operator = with_engine("kai") | {"muster:gpuOperator": {"install": "helm"}}
    with_operator["muster:pools"][1]["gpu"]["driver"] = "disabled"
    assert runtime_class(with_operator) == "nvidia"
