"""KubeRay and Kueue: what is installed in the cluster, and what is left alone."""

import json
from typing import Any

import pytest

from tests.unit.components.harness import declare_platform
from tests.unit.stacks.builders import put

CRDS = "https://raw.githubusercontent.com/kubernetes-sigs/kueue/v0.19.2/config/components/crd/bases"
KUEUE = {
    "compat": "true",
    "chart": "oci://registry.k8s.io/kueue/charts/kueue",
    "createNamespace": True,
    "name": "kueue",
    "namespace": "kueue-system",
    "version": "0.19.2",
}


def test_kuberay_by_helm() -> None:
    declared = declare_platform(put("muster:kuberay", {"install": "helm", "version": "1.5.0"}))

    assert declared.inputs("Release/kuberay-operator") == {
        "chart": "kuberay-operator",
        "compat": "true",
        "createNamespace": True,
        "name": "kuberay-operator",
        "namespace": "kuberay-system",
        "repositoryOpts": {"repo": "https://ray-project.github.io/kuberay-helm/"},
        "version": "1.5.0",
    }
    assert declared["Release/kuberay-operator"].depends_on == {"NodePool/system", "NodePool/l4"}


# Engine and ways to install -> what is declared for operators.
INSTALLED: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "engine muster needs Kueue's API only": (
        "muster",
        {},
        {"Release/kuberay-operator", "ConfigGroup/kueue-definitions", "Deployment/muster-controller"},
    ),
    "engine kueue needs Kueue": ("kueue", {}, {"Release/kuberay-operator", "Release/kueue"}),
    "what exists is left alone": (
        "muster",
        {"muster:kuberay": {"install": "existing"}, "muster:kueue": {"install": "existing"}},
        {"Deployment/muster-controller"},
    ),
    "Kueue too": ("kueue", {"muster:kueue": {"install": "existing"}}, {"Release/kuberay-operator"}),
}


@pytest.mark.parametrize(("engine", "more", "installed"), INSTALLED.values(), ids=INSTALLED.keys())
def test_installed(engine: str, more: dict[str, Any], installed: set[str]) -> None:
    declared = declare_platform(put("muster:admission", "engine", engine) | more)

    assert set(declared.kinds("Release", "ConfigGroup", "Deployment")) == installed


def test_kueues_definitions_are_pinned() -> None:
    files = declare_platform(put("muster:admission", "engine", "muster")).inputs(
        "ConfigGroup/kueue-definitions"
    )["files"]

    assert files == [
        f"{CRDS}/kueue.x-k8s.io_{plural}.yaml"
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


def test_kueues_chart_watches_jobs_and_ray_only() -> None:
    inputs = declare_platform(put("muster:admission", "engine", "kueue")).inputs("Release/kueue")
    configuration = json.loads(inputs["values"]["managerConfig"]["controllerManagerConfigYaml"])

    assert {key: value for key, value in inputs.items() if key != "values"} == KUEUE
    assert configuration["apiVersion"] == "config.kueue.x-k8s.io/v1beta2"
    assert configuration["integrations"] == {
        "frameworks": ["batch/job", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice"]
    }
