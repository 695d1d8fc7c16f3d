"""The platform as a whole: dependencies, providers and outputs."""

from pathlib import Path
from typing import Any

import pytest

from components.platform import Platform, PlatformArgs
from settings.load import load, parse
from tests.unit.components.harness import Declarations, declare, declare_platform, declare_stack
from tests.unit.settings.builders import EXISTING, FILE, GOOD

STACKS = Path(__file__).parents[3] / "stacks"


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform(GOOD, with_policies=True)


@pytest.mark.parametrize("file", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda file: file.name)
def test_every_stack_of_the_repository_declares_its_queues(file: Path) -> None:
    settings = load(file)

    assert declare_stack(file).kinds("ClusterQueue") == sorted(
        f"ClusterQueue/{queue.name}" for queue in settings.queues.cluster_queues
    )


def test_every_resource_has_an_explicit_provider(declared: Declarations) -> None:
    custom = {
        name: resource for name, resource in declared.items() if not _is_component_or_provider(resource.type)
    }

    assert {name: resource.provider for name, resource in custom.items()} == {
        name: "gcp/google" if resource.type.startswith("gcp:") else "kubernetes/kubernetes"
        for name, resource in custom.items()
    }


def _is_component_or_provider(type_token: str) -> bool:
    return type_token.startswith(("muster:", "pulumi:providers:"))


def test_every_resource_has_a_component_above_it(declared: Declarations) -> None:
    top = {
        name: resource.parent for name, resource in declared.items() if resource.parent.startswith("Stack/")
    }

    assert top == {"Platform/muster": "Stack/muster-test"}


CONTROLLER = {"Deployment/muster-controller", "ClusterRoleBinding/muster-controller"}
# `pulumi destroy` reverses the order: the namespaces with their workloads, then the ClusterQueues that these
# used, then the controller, which removes its finalizers.
ORDER = {
    "Release/kuberay-operator": {"NodePool/system"},
    "ConfigGroup/kueue-definitions": {"NodePool/system"},
    "MutatingAdmissionPolicy/muster-suspend-queued-ray": {"Release/kuberay-operator"},
    "ResourceFlavor/l4": {"ConfigGroup/kueue-definitions", *CONTROLLER},
    "AdmissionCheck/queued-provisioning": {"ConfigGroup/kueue-definitions", *CONTROLLER},
    "ClusterQueue/team-a": {"ConfigGroup/kueue-definitions", *CONTROLLER},
    "WorkloadPriorityClass/prod-priority": {"ConfigGroup/kueue-definitions"},
    "Deployment/muster-controller": {"ConfigGroup/kueue-definitions", "Release/kuberay-operator"},
    "LocalQueue/team-a/user-queue": {"Namespace/team-a", "ClusterQueue/team-a"},
    "Namespace/team-a": {
        "ClusterQueue/team-a",
        "Release/kuberay-operator",
        "Deployment/muster-controller",
        "MutatingAdmissionPolicyBinding/muster-suspend-queued-ray",
    },
}


@pytest.mark.parametrize(("name", "after"), ORDER.items(), ids=ORDER.keys())
def test_components_depend_on_those_they_need(declared: Declarations, name: str, after: set[str]) -> None:
    assert declared[name].depends_on >= after


KUBECTL = "get clusterqueues,localqueues,workloads --all-namespaces"
HINTS: dict[str, tuple[dict[str, Any], str]] = {
    "GKE": (
        GOOD["muster:cluster"],
        "gcloud container clusters get-credentials ray --location us-west1-b --project acme-ml "
        f"&& kubectl {KUBECTL}",
    ),
    "existing": (EXISTING, f"kubectl {KUBECTL}"),
    "existing, by context": ({**EXISTING, "context": "here"}, f"kubectl --context here {KUBECTL}"),
}


@pytest.mark.parametrize(("cluster", "hint"), HINTS.values(), ids=HINTS.keys())
def test_outputs_hold_a_kubectl_command(cluster: dict[str, Any], hint: str) -> None:
    platforms: list[Platform] = []
    settings = parse({**GOOD, "muster:cluster": cluster}, FILE)
    declare(lambda: platforms.append(Platform("muster", PlatformArgs(settings))))

    outputs = platforms[0].outputs
    assert outputs["engine"] == "muster"
    assert outputs["queues"] == {"team-a/user-queue": "team-a"}
    assert outputs["kubectl"] == hint
