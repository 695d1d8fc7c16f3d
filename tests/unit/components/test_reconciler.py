"""Muster's controller: what it runs as, and what it may do."""

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.stacks.builders import EXISTING, GOOD

CONTROLLER = "muster-controller"


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform({**GOOD, "muster:cluster": EXISTING})


def allows(role: dict[str, list[dict[str, list[str]]]], verb: str, group: str, resource: str) -> bool:
    return any(
        verb in rule["verbs"] and group in rule["apiGroups"] and resource in rule["resources"]
        for rule in role["rules"]
    )


KUEUE, RAY, SCALING = "kueue.x-k8s.io", "ray.io", "autoscaling.x-k8s.io"

QUEUES = ("clusterqueues", "localqueues", "admissionchecks")
READ_ONLY = ("cohorts", "provisioningrequestconfigs", "resourceflavors", "workloadpriorityclasses")
MAKE = ("get", "list", "watch", "create", "patch", "delete")

MAY = [
    *[
        (verb, RAY, jobs)
        for jobs in ("rayjobs", "rayclusters")
        for verb in ["get", "list", "watch", "patch", "update"]
    ],
    *[(verb, KUEUE, "workloads") for verb in ["get", "list", "watch", "create", "update", "patch", "delete"]],
    *[(verb, KUEUE, "workloads/status") for verb in ("update", "patch")],
    ("update", KUEUE, "workloads/finalizers"),
    *[("patch", KUEUE, f"{plural}/status") for plural in QUEUES],
    *[("watch", KUEUE, plural) for plural in (*QUEUES, *READ_ONLY)],
    *[(verb, SCALING, "provisioningrequests") for verb in MAKE],
    *[(verb, "", "podtemplates") for verb in MAKE],
    *[("watch", "", plural) for plural in ("namespaces", "limitranges", "pods", "nodes")],
    ("watch", "scheduling.k8s.io", "priorityclasses"),
    *[("create", group, "events") for group in ("", "events.k8s.io")],
]
MAY_NOT = [
    ("create", RAY, "rayjobs"),
    ("delete", RAY, "rayjobs"),
    ("delete", RAY, "rayclusters"),
    ("patch", RAY, "rayjobs/status"),
    ("patch", KUEUE, "clusterqueues"),
    ("create", KUEUE, "localqueues"),
    ("patch", KUEUE, "resourceflavors"),
    ("delete", "", "pods"),
    ("create", "", "pods"),
    ("patch", "", "nodes"),
    ("get", "", "secrets"),
    ("get", "", "configmaps"),
    ("patch", "", "namespaces"),
    ("get", "coordination.k8s.io", "leases"),  # only in its own namespace
    ("update", SCALING, "provisioningrequests/status"),
]


@pytest.mark.parametrize(("verb", "group", "resource"), MAY)
def test_may(declared: Declarations, verb: str, group: str, resource: str) -> None:
    assert allows(declared.inputs(f"ClusterRole/{CONTROLLER}"), verb, group, resource)


@pytest.mark.parametrize(("verb", "group", "resource"), MAY_NOT)
def test_may_not(declared: Declarations, verb: str, group: str, resource: str) -> None:
    assert not allows(declared.inputs(f"ClusterRole/{CONTROLLER}"), verb, group, resource)


def test_no_rule_has_a_wildcard(declared: Declarations) -> None:
    rules = [
        rule for role in declared.kinds("ClusterRole", "Role") for rule in declared.inputs(role)["rules"]
    ]

    assert not [rule for rule in rules if "*" in (*rule["verbs"], *rule["apiGroups"], *rule["resources"])]


def test_its_lease_is_in_its_own_namespace(declared: Declarations) -> None:
    role = declared.inputs(f"Role/{CONTROLLER}")

    assert role["metadata"]["namespace"] == "muster-system"
    assert all(allows(role, verb, "coordination.k8s.io", "leases") for verb in ("get", "create", "update"))


@pytest.mark.parametrize("binding", ["ClusterRoleBinding", "RoleBinding"])
def test_bindings(declared: Declarations, binding: str) -> None:
    inputs = declared.inputs(f"{binding}/{CONTROLLER}")

    assert inputs["subjects"] == [
        {"kind": "ServiceAccount", "name": CONTROLLER, "namespace": "muster-system"}
    ]
    assert inputs["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": binding.removesuffix("Binding"),
        "name": CONTROLLER,
    }


def test_the_deployment(declared: Declarations) -> None:
    spec = declared.spec(f"Deployment/{CONTROLLER}")
    pod = spec["template"]["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert pod["serviceAccountName"] == CONTROLLER
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["containers"] == [
        {
            "name": "controller",
            "image": "registry.example/muster/controller:0.1.0",
            "command": ["python", "-m", "muster"],
            "args": ["controller"],
            "resources": {
                "requests": {"cpu": "100m", "memory": "128Mi"},
                "limits": {"cpu": "1", "memory": "256Mi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ]


def test_it_starts_with_all_its_rights(declared: Declarations) -> None:
    assert declared[f"Deployment/{CONTROLLER}"].depends_on >= {
        f"ServiceAccount/{CONTROLLER}",
        f"ClusterRoleBinding/{CONTROLLER}",
        f"RoleBinding/{CONTROLLER}",
    }
