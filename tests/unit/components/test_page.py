"""The page's Deployment: it may only read, and only gateways reach it."""

from typing import Any

import pytest

from muster.cluster.watched_kinds import WATCHED_WITH_TOPOLOGIES
from muster.live.page.watching import SHOWN
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD

PAGE, NAMESPACE = "muster-page", "muster-system"


def declare_with(page: dict[str, Any] | None, **controller: Any) -> Declarations:
    settings = {**GOOD["muster:controller"], **controller}
    return declare_platform(
        {**GOOD, "muster:cluster": EXISTING, "muster:controller": {**settings, "page": page}}
    )


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_with({})


def container(declared: Declarations) -> dict[str, Any]:
    (pod_container,) = declared.spec(f"Deployment/{PAGE}")["template"]["spec"]["containers"]
    return dict(pod_container)


def test_no_page_is_declared_by_default() -> None:
    assert not [name for name in declare_with(None) if PAGE in name]


def test_it_may_read_what_it_shows_and_nothing_else(declared: Declarations) -> None:
    shown = (*SHOWN, *WATCHED_WITH_TOPOLOGIES)
    allowed = {
        (verb, group, resource)
        for rule in declared.inputs(f"ClusterRole/{PAGE}")["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }

    assert allowed == {(verb, kind.group, kind.plural) for kind in shown for verb in ("get", "list", "watch")}
    (subject,) = declared.inputs(f"ClusterRoleBinding/{PAGE}")["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": PAGE, "namespace": NAMESPACE}
    assert declared.spec(f"Deployment/{PAGE}")["template"]["spec"]["serviceAccountName"] == PAGE


def test_it_runs_muster_serve_with_the_controllers_image_and_configuration() -> None:
    page = {"hostNames": ["queues.example.com"]}
    pod_container = container(declare_with(page, rules={"backfill": True}))

    assert pod_container["image"] == GOOD["muster:controller"]["image"]
    assert [*pod_container["command"], *pod_container["args"]] == [
        *("python", "-m", "muster", "serve", "--address=0.0.0.0:8080"),
        "--host-name=queues.example.com",
        '--configuration={"rules": {"backfill": true}}',
    ]


def test_probes_name_a_host_that_is_answered(declared: Declarations) -> None:
    for probe in ("livenessProbe", "readinessProbe"):
        asked = container(declared)[probe]["httpGet"]
        assert asked == {
            "path": "/healthz",
            "port": "http",
            "httpHeaders": [{"name": "Host", "value": "localhost"}],
        }


NAMESPACES: dict[str, tuple[list[str], list[str]]] = {
    "none": ([], []),
    "a gateway": (["gateway"], ["gateway"]),
}


@pytest.mark.parametrize("name", NAMESPACES)
def test_only_the_namespaces_of_gateways_reach_it(name: str) -> None:
    namespaces, allowed = NAMESPACES[name]
    policy = declare_with({"namespaces": namespaces}).spec(f"NetworkPolicy/{PAGE}")
    peers = [peer for rule in policy["ingress"] for peer in rule["from"]]

    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert [p["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for p in peers] == allowed
    (egress,) = policy["egress"]
    assert [port["port"] for port in egress["ports"]] == [443, 6443]


def test_service_leads_to_its_pods(declared: Declarations) -> None:
    service = declared.spec(f"Service/{PAGE}")
    labels = declared.spec(f"Deployment/{PAGE}")["template"]["metadata"]["labels"]

    assert service["selector"] == labels
    assert [(port["port"], port["targetPort"]) for port in service["ports"]] == [(80, "http")]


def test_pod_is_restricted_as_the_namespace_asks(declared: Declarations) -> None:
    pod = declared.spec(f"Deployment/{PAGE}")["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container(declared)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
