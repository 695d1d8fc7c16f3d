"""Services that KubeRay creates for a tenant: which fields and keys pass stack local's policies."""

import copy
from typing import Any, NamedTuple

import pytest

from components.admission.services import PORT_FIELDS, SERVICE_FIELDS
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    refused_patch,
    unqueued,
)
from tools.docs import ray_fields

Place = tuple[str, ...]


def in_head(kind: str) -> Place:
    spec = {"rayjob": ("rayClusterSpec",), "rayservice": ("rayClusterConfig",)}.get(kind, ())
    return ("spec", *spec, "headGroupSpec", "headService")


MAKERS = {"rayjob": rayjob, "raycluster": raycluster, "rayservice": rayservice, "unqueued": unqueued}
PLACES = [*((kind, in_head(kind)) for kind in MAKERS), ("rayservice", ("spec", "serveService"))]
FIELDS = {"spec": "may have only type, ports, selector, clusterIP, publishNotReadyAddresses"}
KEYS = "may have only keys without a prefix, and app.kubernetes.io/…"

# a Service -> a part of the message that refuses it
SERVICES: dict[str, tuple[dict[str, Any], str]] = {
    "external IPs": ({"spec": {"externalIPs": ["10.0.0.10"]}}, FIELDS["spec"]),
    "no external IPs": ({"spec": {"externalIPs": []}}, FIELDS["spec"]),
    "an external name": ({"spec": {"externalName": "metadata.google.internal"}}, FIELDS["spec"]),
    "the type ExternalName": ({"spec": {"type": "ExternalName"}}, "stay inside the cluster"),
    "the type LoadBalancer": ({"spec": {"type": "LoadBalancer"}}, "stay inside the cluster"),
    "a load balancer's address": ({"spec": {"loadBalancerIP": "10.0.0.10"}}, FIELDS["spec"]),
    "a load balancer's class": ({"spec": {"loadBalancerClass": "example.com/internal"}}, FIELDS["spec"]),
    "its sources": ({"spec": {"loadBalancerSourceRanges": ["0.0.0.0/0"]}}, FIELDS["spec"]),
    "a traffic policy": ({"spec": {"externalTrafficPolicy": "Local"}}, FIELDS["spec"]),
    "session affinity": ({"spec": {"sessionAffinity": "ClientIP"}}, FIELDS["spec"]),
    "a port of the nodes": (
        {"spec": {"ports": [{"port": 80, "nodePort": 30080}]}},
        "may have only name, port",
    ),
    "an address of the user's choice": ({"spec": {"clusterIP": "10.0.0.10"}}, "remove"),
    "several addresses": ({"spec": {"clusterIPs": ["10.0.0.10"]}}, FIELDS["spec"]),
    "a finalizer": (
        {"metadata": {"finalizers": ["example.com/mine"]}},
        "may have only name, namespace, labels",
    ),
    "external-dns": (
        {"metadata": {"annotations": {"external-dns.alpha.kubernetes.io/hostname": "www.example.com"}}},
        KEYS,
    ),
    "a load balancer of GKE": (
        {"metadata": {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}},
        KEYS,
    ),
    "network endpoint groups": ({"metadata": {"annotations": {"cloud.google.com/neg": "{}"}}}, KEYS),
    "AWS": (
        {"metadata": {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}}},
        KEYS,
    ),
    "an unknown controller": (
        {"metadata": {"annotations": {"new.example/acts": "on it"}}},
        KEYS,
    ),
    "another proxy": ({"metadata": {"labels": {"service.kubernetes.io/service-proxy-name": "mine"}}}, KEYS),
    "another head's labels": ({"metadata": {"labels": {"ray.io/cluster": "other"}}}, KEYS),
    "ports, labels and plain annotations": (
        {
            "metadata": {
                "name": "mine",
                "labels": {"team": "a", "app.kubernetes.io/part-of": "search"},
                "annotations": {"note": "ours"},
            },
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": {"team": "a"},
                "ports": [
                    {"name": "serve", "port": 80, "targetPort": 8000, "protocol": "TCP", "appProtocol": "h2c"}
                ],
            },
        },
        "",
    ),
}


def with_service(kind: str, place: Place, service: dict[str, Any]) -> Manifest:
    manifest = copy.deepcopy(MAKERS[kind]())
    here: Any = manifest
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = service
    return manifest


@pytest.mark.parametrize(
    ("kind", "place"), PLACES, ids=lambda value: value if isinstance(value, str) else value[-1]
)
@pytest.mark.parametrize("name", SERVICES)
def test_services_of_tenants_are_plain(server: Kubectl, kind: str, place: Place, name: str) -> None:
    service, message = SERVICES[name]
    error = refusal(server, ALICE, with_service(kind, place, service))
    assert message in error
    assert bool(error) is bool(message)


@pytest.mark.parametrize("kind", MAKERS)
def test_annotations_of_the_head_service_are_plain(server: Kubectl, kind: str) -> None:
    place = (*in_head(kind)[:-2], "headServiceAnnotations")
    dns = {"external-dns.alpha.kubernetes.io/hostname": "www.example.com"}
    assert KEYS in refusal(server, ALICE, with_service(kind, place, dns))
    assert refusal(server, ALICE, with_service(kind, place, {"note": "ours"})) == ""


def test_no_gateway_is_created_for_an_upgrade(server: Kubectl) -> None:
    options = {"gatewayClassName": "external", "intervalSeconds": 1, "stepSizePercent": 1}
    upgrade = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}
    error = refusal(server, ALICE, with_service("rayservice", ("spec", "upgradeStrategy"), upgrade))
    assert "remove spec.upgradeStrategy.clusterUpgradeOptions" in error


def test_a_service_cannot_be_changed_to_intercept_traffic(server: Kubectl) -> None:
    patch = {"spec": {"headGroupSpec": {"headService": {"spec": {"externalIPs": ["10.0.0.10"]}}}}}
    target = Target("ray.io/v1", "RayCluster", "free", "team-a")
    assert FIELDS["spec"] in refused_patch(server, ALICE, target, patch)
    assert refused_patch(server, ADMIN, target, patch) == ""


class Part(NamedTuple):
    """A part of a Service in KubeRay's schema, and the fields of it that pass."""

    path: str
    allowed: tuple[str, ...]


PARTS = [*(Part(path, fields) for path, fields in SERVICE_FIELDS.items()), Part("spec.ports", PORT_FIELDS)]
# Of KubeRay 1.6.2's schema; the names of fields that do not pass, so that a new field is noticed.
REFUSED = {
    "": set[str](),
    "metadata": {"finalizers"},
    "spec": {
        "allocateLoadBalancerNodePorts",
        "clusterIPs",
        "externalIPs",
        "externalName",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "internalTrafficPolicy",
        "ipFamilies",
        "ipFamilyPolicy",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
        "sessionAffinity",
        "sessionAffinityConfig",
        "trafficDistribution",
    },
    "spec.ports": {"nodePort"},
}


@pytest.mark.parametrize("place", ["serveService", "headService"])
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.path or "service")
def test_every_field_of_the_schema_passes_or_is_refused(place: str, part: Part) -> None:
    schema = ray_fields.schemas()["RayService"]["properties"]["spec"]
    steps = (
        ["serveService"] if place == "serveService" else ["rayClusterConfig", "headGroupSpec", "headService"]
    )
    for step in [*steps, *(step for step in part.path.split(".") if step)]:
        schema = schema["properties"][step]
    fields = set(schema.get("items", schema)["properties"])
    assert fields - set(part.allowed) == REFUSED[part.path]
    assert set(part.allowed) <= fields
