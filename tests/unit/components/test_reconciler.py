"""Muster's controller: its arguments, RBAC, pods and namespace."""

from typing import Any, get_args

import pytest

from muster.admission import Aging, FairSharing, Rules
from muster.admission.lifecycle import WaitForPodsReady
from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.configuration.configuration import Retention, parse
from muster.configuration.feature_gates import SUPPORTED, with_gates
from muster.live.doctor.installation import RIGHTS, Right
from settings.model.controller import Gate
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD

CONTROLLER, NAMESPACE = "muster-controller", "muster-system"
IMAGE = GOOD["muster:controller"]["image"]


def declare_with(admission: dict[str, Any] | None = None, **controller: Any) -> Declarations:
    config = {
        "muster:cluster": EXISTING,
        "muster:controller": {"image": IMAGE, **controller},
        "muster:admission": GOOD["muster:admission"] | (admission or {}),
    }
    return declare_platform({**GOOD, **config})


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_with()


def allowed(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


KUEUE, RAY, SCALING = "kueue.x-k8s.io", "ray.io", "autoscaling.x-k8s.io"
RAY_KINDS = ("rayjobs", "rayclusters", "rayservices")
QUEUES = ("clusterqueues", "localqueues", "admissionchecks")
# Every write of muster/controller; the kinds that it watches come from the code.
WRITES = {
    *[("patch", RAY, kind) for kind in RAY_KINDS],
    *[("update", RAY, f"{kind}/finalizers") for kind in RAY_KINDS],
    ("patch", "batch", "jobs"),
    ("delete", "batch", "jobs"),
    ("patch", "jobset.x-k8s.io", "jobsets"),
    ("update", "jobset.x-k8s.io", "jobsets/finalizers"),
    ("patch", "leaderworkerset.x-k8s.io", "leaderworkersets"),
    ("update", "leaderworkerset.x-k8s.io", "leaderworkersets/finalizers"),
    ("patch", "batch", "jobs/status"),
    ("update", "batch", "jobs/finalizers"),
    ("create", "", "pods"),
    ("create", "", "services"),
    ("delete", "", "pods"),
    ("patch", "", "pods"),
    *[(verb, KUEUE, "workloads") for verb in ("create", "patch", "delete")],
    ("patch", KUEUE, "workloads/status"),
    ("update", KUEUE, "workloads/status"),
    ("update", KUEUE, "workloads/finalizers"),
    *[("update", KUEUE, f"{plural}/status") for plural in QUEUES],
    *[("patch", KUEUE, kind) for kind in ("clusterqueues", "resourceflavors", "admissionchecks")],
    *[(verb, SCALING, "provisioningrequests") for verb in ("create", "delete")],
    ("update", SCALING, "provisioningrequests/finalizers"),
    *[(verb, "", "podtemplates") for verb in ("create", "patch", "delete")],
    ("create", "", "events"),
}


def test_wait_for_pods_ready_is_passed_to_the_controller() -> None:
    wait = {"timeoutSeconds": 600, "requeuing": {"limit": 2}}
    declared = declare_with(waitForPodsReady=wait)
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]
    (argument,) = [a for a in container["args"] if a.startswith("--configuration=")]
    assert parse(argument.removeprefix("--configuration=")).wait_for_pods_ready == WaitForPodsReady(
        timeout_s=600, recovery_timeout_s=600, retries_max=2
    )


@pytest.mark.parametrize("deployment", [CONTROLLER, "muster-page"])
def test_pods_leave_a_lost_node_after_half_a_minute(deployment: str) -> None:
    pod = declare_with(page={}).spec(f"Deployment/{deployment}")["template"]["spec"]
    tolerated = {t["key"].rpartition("/")[2]: t["tolerationSeconds"] for t in pod["tolerations"]}
    assert tolerated == {"not-ready": 30, "unreachable": 30}


def test_fair_sharing_and_rules_are_passed_to_the_controller() -> None:
    aging = {"step": 10, "periodSeconds": 3600, "max": 100}
    rules = {"immediateUnparking": True, "backfill": True, "minimumRunSeconds": 600, "aging": aging}
    declared = declare_with(fairSharing={}, rules=rules)
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]
    (argument,) = [a for a in container["args"] if a.startswith("--configuration=")]
    assert parse(argument.removeprefix("--configuration=")).rules == Rules(
        fair_sharing=FairSharing(),
        immediate_unparking=True,
        backfill=True,
        run_time_ms_min=600_000,
        aging=Aging(10, 3_600_000, 100),
    )


def test_notice_of_surplus_is_passed_to_the_controller() -> None:
    declared = declare_with(admission={"elastic": {"noticeSeconds": 90}})
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]
    (argument,) = [a for a in container["args"] if a.startswith("--configuration=")]
    assert parse(argument.removeprefix("--configuration=")).notice_ms == 90_000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"afterFinishedSeconds": 86_400}, Retention(86_400, None)),
        ({"afterFinishedSeconds": 0, "afterDeactivatedSeconds": 60}, Retention(0, 60)),
    ],
)
def test_retention_is_passed_to_the_controller(settings: dict[str, int], expected: Retention) -> None:
    """The controller may delete jobs only if the stack allows it."""
    declared = declare_with(retention=settings)
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]
    (argument,) = [a for a in container["args"] if a.startswith("--configuration=")]
    assert parse(argument.removeprefix("--configuration=")).retention == expected
    rights = allowed(declared.inputs(f"ClusterRole/{CONTROLLER}"))
    deletes = {("delete", RAY, kind) for kind in RAY_KINDS}
    assert rights & deletes == (deletes if "afterDeactivatedSeconds" in settings else set())


def test_every_feature_gate_is_passed_to_the_controller() -> None:
    gates = dict.fromkeys(SUPPORTED, False)
    declared = declare_with(fairSharing={}, featureGates=gates)
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]
    (argument,) = [a for a in container["args"] if a.startswith("--configuration=")]
    assert parse(argument.removeprefix("--configuration=")).rules == with_gates(
        Rules(fair_sharing=FairSharing()), gates
    )
    assert get_args(Gate) == SUPPORTED


def test_cluster_rules_are_exactly_what_the_controller_reads_and_writes(declared: Declarations) -> None:
    followed = (*WATCHED, *WATCHED_WITH_TOPOLOGIES)
    follows = {(verb, kind.group, kind.plural) for kind in followed for verb in ("get", "list", "watch")}

    assert allowed(declared.inputs(f"ClusterRole/{CONTROLLER}")) == follows | WRITES


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_the_doctor_asks_only_for_rights_that_the_role_grants(declared: Declarations, right: Right) -> None:
    resource = "/".join(filter(None, (right.kind.plural, right.subresource)))

    assert (right.verb, right.kind.group, resource) in allowed(declared.inputs(f"ClusterRole/{CONTROLLER}"))


def test_it_may_change_one_lease_in_its_own_namespace(declared: Declarations) -> None:
    role = declared.inputs(f"Role/{CONTROLLER}")

    assert role["metadata"]["namespace"] == NAMESPACE
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "patch"],
            "resourceNames": [CONTROLLER],
        },
    ]


@pytest.mark.parametrize("binding", ["ClusterRoleBinding", "RoleBinding"])
def test_bindings_name_the_controllers_account(declared: Declarations, binding: str) -> None:
    inputs = declared.inputs(f"{binding}/{CONTROLLER}")

    assert inputs["subjects"] == [{"kind": "ServiceAccount", "name": CONTROLLER, "namespace": NAMESPACE}]
    assert inputs["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": binding.removesuffix("Binding"),
        "name": CONTROLLER,
    }


def test_replicas_are_replaced_one_by_one(declared: Declarations) -> None:
    spec = declared.spec(f"Deployment/{CONTROLLER}")

    assert spec["replicas"] == 2
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_pods_are_restricted_and_spread(declared: Declarations) -> None:
    pod = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]

    assert pod["serviceAccountName"] == CONTROLLER
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert pod["terminationGracePeriodSeconds"] == 30
    assert pod["nodeSelector"] == {"cloud.google.com/gke-nodepool": "system"}
    assert [(c["topologyKey"], c["whenUnsatisfiable"]) for c in pod["topologySpreadConstraints"]] == [
        ("topology.kubernetes.io/zone", "ScheduleAnyway"),
        ("kubernetes.io/hostname", "ScheduleAnyway"),
    ]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def probe(path: str) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }


def test_the_container_runs_the_controller_unprivileged(declared: Declarations) -> None:
    (container,) = declared.spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]

    assert container == {
        "name": "controller",
        "image": IMAGE,
        "command": ["python", "-m", "muster"],
        "args": ["controller", "--log-level=info", "--http-address=:8080", "--eta"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        ],
        "ports": [{"name": "http", "containerPort": 8080}],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def test_estimates_can_be_switched_off() -> None:
    (container,) = declare_with(eta=False).spec(f"Deployment/{CONTROLLER}")["template"]["spec"]["containers"]

    assert "--eta" not in container["args"]


def test_its_namespace_admits_restricted_pods_only(declared: Declarations) -> None:
    labels = declared.inputs(f"Namespace/{NAMESPACE}")["metadata"]["labels"]

    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}


def tcp(port: int) -> dict[str, Any]:
    return {"port": port, "protocol": "TCP"}


def test_only_the_api_server_and_scrapers_are_allowed_by_its_network_policy(declared: Declarations) -> None:
    scrapers = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
        for name in ("gmp-system", "gke-gmp-system")
    ]

    assert declared.spec(f"NetworkPolicy/{CONTROLLER}") == {
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": CONTROLLER}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": scrapers, "ports": [tcp(8080)]}],
        "egress": [{"ports": [tcp(443), tcp(6443)]}],
    }


def test_without_scrapers_its_network_policy_has_no_ingress() -> None:
    policy = declare_with(metricsFrom=[]).spec(f"NetworkPolicy/{CONTROLLER}")

    assert policy["ingress"] == []


def test_one_of_two_replicas_may_be_disrupted(declared: Declarations) -> None:
    assert declared.spec(f"PodDisruptionBudget/{CONTROLLER}") == {
        "minAvailable": 1,
        "selector": {"matchLabels": {"app.kubernetes.io/name": CONTROLLER}},
    }


def test_a_single_replica_has_no_disruption_budget() -> None:
    alone = declare_with(replicas=1)

    assert alone.spec(f"Deployment/{CONTROLLER}")["replicas"] == 1
    assert alone.kinds("PodDisruptionBudget") == []


@pytest.mark.parametrize(("replicas", "pods"), [(2, "5"), (3, "7")])
def test_its_quota_allows_all_of_its_critical_pods(replicas: int, pods: str) -> None:
    """Counts starting and ending pods too."""
    assert declare_with(replicas=replicas).spec("ResourceQuota/muster-critical-pods") == {
        "hard": {"pods": pods},
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
            ]
        },
    }


def test_it_starts_after_its_bindings_and_its_network_policy(declared: Declarations) -> None:
    assert declared[f"Deployment/{CONTROLLER}"].depends_on >= {
        f"ServiceAccount/{CONTROLLER}",
        f"ClusterRoleBinding/{CONTROLLER}",
        f"RoleBinding/{CONTROLLER}",
        f"NetworkPolicy/{CONTROLLER}",
        "ResourceQuota/muster-critical-pods",
    }


FLOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "muster-leader-election": (
        "leader-election",
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "create", "patch"],
            "namespaces": [NAMESPACE],
        },
    ),
    CONTROLLER: (
        "workload-high",
        {
            "apiGroups": ["*"],
            "resources": ["*"],
            "verbs": ["*"],
            "namespaces": ["*"],
            "clusterScope": True,
        },
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_floods_of_tenants_do_not_delay_its_requests(declared: Declarations, name: str) -> None:
    level, requests = FLOWS[name]
    spec = declared.spec(f"FlowSchema/{name}")
    assert spec["priorityLevelConfiguration"] == {"name": level}
    assert spec["rules"] == [
        {
            "subjects": [
                {
                    "kind": "ServiceAccount",
                    "serviceAccount": {"name": CONTROLLER, "namespace": NAMESPACE},
                }
            ],
            "resourceRules": [requests],
        }
    ]
    assert f"FlowSchema/{name}" in declared[f"Deployment/{CONTROLLER}"].depends_on


def test_its_lease_comes_before_its_other_requests(declared: Declarations) -> None:
    """The API server takes the first schema that matches, by precedence."""
    first, second = (declared.spec(f"FlowSchema/{name}")["matchingPrecedence"] for name in FLOWS)
    assert first < second < 9000  # of the API server's own schema for all ServiceAccounts


IN_THE_NAMESPACE = ("ServiceAccount", "Role", "NetworkPolicy", "PodDisruptionBudget")


@pytest.mark.parametrize("kind", IN_THE_NAMESPACE)
def test_its_namespace_comes_first(declared: Declarations, kind: str) -> None:
    assert f"Namespace/{NAMESPACE}" in declared[f"{kind}/{CONTROLLER}"].depends_on
