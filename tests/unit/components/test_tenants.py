"""Tenants on any cluster: namespaces, RBAC, bounds, and network isolation."""

from typing import Any

import pytest

from settings.model.tenants.tenant import JOB_OBJECTS
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, put

TEAM_A: dict[str, Any] = GOOD["muster:tenants"][0]
RAY = {"matchExpressions": [{"key": "ray.io/cluster", "operator": "Exists"}]}
HEADS = {"matchLabels": {"ray.io/node-type": "head"}}
JOBS = {"matchExpressions": [{"key": "batch.kubernetes.io/job-name", "operator": "Exists"}]}
KUBERAY = {
    "namespaceSelector": {"matchExpressions": [{"key": "muster.dev/tenant", "operator": "DoesNotExist"}]},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "kuberay-operator"}},
}
NOT_PUBLIC = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]


def local(**settings: Any) -> Declarations:
    """Returns the resources of the good stack on an existing cluster, with more settings of its tenant."""
    return declare_platform(put("muster:tenants", 0, {**TEAM_A, **settings}) | {"muster:cluster": EXISTING})


def on_gke(**settings: Any) -> Declarations:
    return declare_platform(put("muster:tenants", 0, {**TEAM_A, **settings}))


def mine(declared: Declarations, *kinds: str) -> list[str]:
    """Returns the tenant's resources, without the controller's and the operators'."""
    return [name for name in declared.kinds(*kinds) if "/team-a/" in name]


def tcp(*ports: int) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]


def namespace(name: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def block(*cidrs: str) -> list[dict[str, Any]]:
    return [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]


LEVEL = "pod-security.kubernetes.io"
LABELS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "by default": (
        {},
        {f"{LEVEL}/enforce": "baseline", f"{LEVEL}/audit": "baseline", f"{LEVEL}/warn": "baseline"},
    ),
    "one level for all": (
        {"podSecurity": "restricted"},
        {f"{LEVEL}/enforce": "restricted", f"{LEVEL}/audit": "restricted", f"{LEVEL}/warn": "restricted"},
    ),
    "a level each": (
        {"podSecurity": {"enforce": "privileged", "audit": "restricted", "warn": "baseline"}},
        {f"{LEVEL}/enforce": "privileged", f"{LEVEL}/audit": "restricted", f"{LEVEL}/warn": "baseline"},
    ),
    "what policies ask for": (
        {"podSecurity": "baseline", "queueRequired": True, "rayAuth": "token"},
        {
            f"{LEVEL}/enforce": "baseline",
            f"{LEVEL}/audit": "baseline",
            f"{LEVEL}/warn": "baseline",
            "muster.dev/queue-required": "true",
            "muster.dev/ray-auth": "token",
        },
    ),
    "objects outside the queues": (
        {"podSecurity": "baseline", "unqueued": [{"kind": "Deployment", "name": "inference"}]},
        {
            f"{LEVEL}/enforce": "baseline",
            f"{LEVEL}/audit": "baseline",
            f"{LEVEL}/warn": "baseline",
            "deployment.unqueued.muster.dev/inference": "true",
        },
    ),
}


@pytest.mark.parametrize(("settings", "labels"), LABELS.values(), ids=LABELS)
def test_labels_of_the_namespace(settings: dict[str, Any], labels: dict[str, str]) -> None:
    declared = local(**settings)["Namespace/team-a"]
    assert declared.inputs["metadata"]["labels"] == {
        "muster.dev/tenant": "true",
        "muster.dev/claims": "none",
        **labels,
    }
    assert declared.ignore_changes == ("metadata.annotations",)


@pytest.mark.parametrize("protection", [True, False])
def test_namespaces_are_protected_as_the_cluster_is(protection: bool) -> None:
    config = put("muster:cluster", "deletionProtection", protection)
    assert declare_platform(config)["Namespace/team-a"].protect is protection


CLAIMS = "persistentvolumeclaims"


def test_a_team_writes_ray_objects_and_reads_the_rest() -> None:
    declared = local(group="team-a@example.com")
    rights = {
        (group, resource): set(rule["verbs"])
        for rule in declared.inputs("Role/team-a/ray-user")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    writing = {"create", "update", "patch", "delete"}
    written = {what for what, verbs in rights.items() if verbs & writing}
    assert written == {
        ("ray.io", "rayjobs"),
        ("ray.io", "rayclusters"),
        ("ray.io", "rayservices"),
        ("batch", "jobs"),
        ("jobset.x-k8s.io", "jobsets"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"),
        ("ray.io", "raycronjobs"),
        ("batch", "cronjobs"),
        ("", "configmaps"),
        ("", "pods/portforward"),
    }
    assert rights[("ray.io", "rayjobs/status")] == {"get"}
    assert ("", "secrets") not in rights
    subject = {"kind": "Group", "name": "team-a@example.com", "apiGroup": "rbac.authorization.k8s.io"}
    binding = declared["RoleBinding/team-a/ray-user"]
    assert binding.inputs["subjects"] == [subject]
    assert binding.depends_on >= {"Role/team-a/ray-user"}
    assert declared["Role/team-a/ray-user"].depends_on >= {"Namespace/team-a"}
    assert declared.inputs("ClusterRoleBinding/muster-queue-viewer")["subjects"] == [subject]


def test_a_team_reads_secrets_only_with_token_authentication() -> None:
    rules = local(group="team-a@example.com", rayAuth="token").inputs("Role/team-a/ray-user")["rules"]
    assert {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]} in rules


def test_a_team_creates_claims_within_its_storage() -> None:
    declared = local(group="team-a@example.com", storage="500Gi", resourceQuota={"pods": 50})
    rules = declared.inputs("Role/team-a/ray-user")["rules"]
    (written,) = [rule for rule in rules if "create" in rule["verbs"] and rule["resources"] == [CLAIMS]]
    assert "delete" in written["verbs"]
    assert declared.spec("ResourceQuota/team-a/team-quota") == {
        "hard": {**JOB_OBJECTS, "pods": "50", "requests.storage": str(500 * 1024**3)}
    }


@pytest.mark.parametrize(
    ("settings", "labelled"),
    [
        pytest.param({}, True, id="administrators create its claims"),
        pytest.param({"storage": "500Gi"}, False, id="storage"),
        pytest.param({"resourceQuota": {"requests.storage": "500Gi"}}, False, id="a quota of storage"),
    ],
)
def test_ephemeral_volumes_need_a_bound_of_storage(settings: dict[str, Any], labelled: bool) -> None:
    labels = local(**settings).inputs("Namespace/team-a")["metadata"]["labels"]
    assert (labels.get("muster.dev/claims") == "none") is labelled


def test_the_number_of_ray_objects_is_bounded_by_default() -> None:
    assert local().spec("ResourceQuota/team-a/team-quota") == {"hard": JOB_OBJECTS}


def test_without_a_group_no_rights_are_granted() -> None:
    assert not mine(local(), "Role", "RoleBinding")
    assert "ClusterRole/muster-queue-viewer" not in local()


def test_bounds_are_declared_as_the_settings_say() -> None:
    declared = local(
        resourceQuota={"requests.nvidia.com/gpu": 8, "count/rayjobs.ray.io": 50},
        limits={"default": {"cpu": 2}, "defaultRequest": {"cpu": "100m"}, "max": {"memory": "8Gi"}},
        deviceClaims={"gpu": {"deviceClass": "gpu.nvidia.com", "count": 2}},
    )
    assert declared.spec("ResourceQuota/team-a/team-quota") == {
        "hard": {**JOB_OBJECTS, "requests.nvidia.com/gpu": "8", "count/rayjobs.ray.io": "50"}
    }
    assert declared.spec("LimitRange/team-a/container-limits") == {
        "limits": [
            {
                "type": "Container",
                "default": {"cpu": "2"},
                "defaultRequest": {"cpu": "100m"},
                "max": {"memory": "8Gi"},
            }
        ]
    }
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": 2}
    claim = declared["ResourceClaimTemplate/team-a/gpu"]
    assert claim.inputs["spec"] == {
        "spec": {"devices": {"requests": [{"name": "devices", "exactly": exactly}]}}
    }
    assert claim.replace_on_changes == ("spec",)
    assert claim.delete_before_replace
    for name in mine(declared, "ResourceQuota", "LimitRange", "ResourceClaimTemplate"):
        assert declared[name].depends_on >= {"Namespace/team-a"}


def test_bounds_and_network_policies_are_declared_only_if_set() -> None:
    assert not mine(on_gke(), "LimitRange", "ResourceClaimTemplate")
    assert not mine(on_gke(network={"isolated": False}), "NetworkPolicy")


def policies(declared: Declarations) -> dict[str, Any]:
    return {name.rpartition("/")[2]: declared.spec(name) for name in mine(declared, "NetworkPolicy")}


DNS = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
HTTPS = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": NOT_PUBLIC}}], "ports": tcp(443)}


def test_isolation_allows_what_ray_needs() -> None:
    """Port 8265, which has no authentication, is open to operators and submitters only."""
    assert policies(local()) == {
        "default-deny": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        "ray": {
            "podSelector": RAY,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [{"podSelector": RAY}]}],
            "egress": [{"to": [{"podSelector": RAY}]}],
        },
        "ray-heads": {
            "podSelector": HEADS,
            "policyTypes": ["Ingress"],
            "ingress": [
                {"from": [KUBERAY], "ports": tcp(8265, 8000)},
                {"from": [{"podSelector": JOBS}], "ports": tcp(8265)},
            ],
        },
        "job-submitters": {
            "podSelector": JOBS,
            "policyTypes": ["Egress"],
            "egress": [{"to": [{"podSelector": HEADS}], "ports": tcp(8265)}],
        },
        "egress": {
            "podSelector": {},
            "policyTypes": ["Egress"],
            "egress": [{"to": [namespace("kube-system")], "ports": DNS}, HTTPS],
        },
    }


EGRESS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "https": ({}, [HTTPS]),
    "Google's APIs alone": (
        {"egress": "google-apis"},
        [{"to": block("199.36.153.8/30", "199.36.153.4/30"), "ports": tcp(443)}],
    ),
    "nothing": ({"egress": "none"}, []),
    "a database and a whole range": (
        {
            "egress": "none",
            "destinations": [{"cidr": "10.1.2.0/24", "ports": [5432]}, {"cidr": "10.2.0.0/16"}],
        },
        [{"to": block("10.1.2.0/24"), "ports": tcp(5432)}, {"to": block("10.2.0.0/16")}],
    ),
}


@pytest.mark.parametrize(("network", "egress"), EGRESS.values(), ids=EGRESS)
def test_egress_on_gke_follows_the_settings(network: dict[str, Any], egress: list[dict[str, Any]]) -> None:
    """Egress beyond DNS and the metadata server, which Workload Identity needs."""
    name_servers = block("169.254.169.254/32", "169.254.20.10/32")
    assert policies(on_gke(network=network))["egress"]["egress"] == [
        {"to": [namespace("kube-system"), *name_servers], "ports": DNS},
        {"to": block("169.254.169.254/32"), "ports": tcp(80, 8080)},
        {"to": block("169.254.169.252/32"), "ports": tcp(987, 988)},
        *egress,
    ]


def test_heads_reach_the_control_plane_of_gke_at_its_private_address() -> None:
    assert policies(on_gke(network={"egress": "none"}))["ray-autoscalers"] == {
        "podSelector": HEADS,
        "policyTypes": ["Egress"],
        "egress": [{"to": block("10.0.0.2/32"), "ports": tcp(443)}],
    }


def test_heads_reach_the_named_api_servers_of_an_existing_cluster() -> None:
    api_servers = [{"cidr": "10.9.0.2/32", "ports": [6443]}, {"cidr": "10.9.0.3/32"}]
    declared = declare_platform(put("muster:cluster", {**EXISTING, "apiServer": api_servers}))
    assert policies(declared)["ray-autoscalers"]["egress"] == [
        {"to": block("10.9.0.2/32"), "ports": tcp(6443)},
        {"to": block("10.9.0.3/32")},
    ]


def test_metrics_are_scraped_on_gke() -> None:
    assert policies(on_gke())["metrics"]["ingress"] == [
        {"from": [namespace("gmp-system"), namespace("gke-gmp-system")], "ports": tcp(8080)}
    ]


def test_serve_is_open_to_declared_clients_and_load_balancers_only() -> None:
    serving = {"hosts": {"models.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}}
    assert "ray-serve" not in policies(on_gke())
    served = policies(on_gke(serving=serving, network={"clients": ["web"]}))["ray-serve"]
    callers = [namespace("web"), *block("35.191.0.0/16", "130.211.0.0/22")]
    assert served == {
        "podSelector": RAY,
        "policyTypes": ["Ingress"],
        "ingress": [{"from": callers, "ports": tcp(8000)}],
    }


def test_the_add_on_connects_through_the_api_servers_tunnel() -> None:
    declared = declare_platform(put("muster:kuberay", {"install": "addon"}))
    tunnel = {**namespace("kube-system"), "podSelector": {"matchLabels": {"k8s-app": "konnectivity-agent"}}}
    assert policies(declared)["ray-heads"]["ingress"][0]["from"] == [KUBERAY, tunnel]


def test_policies_depend_on_their_namespace() -> None:
    declared = local()
    for name in mine(declared, "NetworkPolicy"):
        assert declared[name].depends_on >= {"Namespace/team-a"}
