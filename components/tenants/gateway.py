"""Access to a tenant's RayServices: an HTTPS Gateway behind Identity-Aware Proxy (IAP)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_gcp import certificatemanager, compute, iap
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.google_cloud import GoogleCloud, name_at_creation
from components.tenants.network_isolation import SERVE
from settings.model.tenants.google import Serving

GATEWAY_API, GKE_API = "gateway.networking.k8s.io/v1", "networking.gke.io/v1"
# The global external Application Load Balancer: supports certificate maps and IAP.
CLASS = "gke-l7-global-external-managed"
NAME = "serving"
HEALTH_PATH = "/-/healthz"  # of every Ray Serve proxy


@dataclass(frozen=True)
class GatewayArgs:
    """`namespace`: the tenant's; `serving`: its gateway."""

    namespace: str
    serving: Serving
    google: GoogleCloud


class Gateway(Component):
    """One Gateway with its own address, and a route, a health check and IAP for each host.

    The hosts' DNS records must point to `address`; managed certificates are issued once they do.
    """

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Gateway", name, opts)
        self._args = args
        self._google = self.child(provider=args.google.provider)
        self._named_once = self.child(provider=args.google.provider, ignore_changes=name_at_creation())
        address = compute.GlobalAddress(
            self.named(f"{args.namespace}-serving"),
            name=args.google.cluster.unique(args.namespace, "serving"),
            project=args.google.project,
            labels=args.google.labels,
            opts=self._named_once,
        )
        self.address = address.address
        certificates = args.serving.certificate_map or self._certificates()
        gateway = self._object(
            "Gateway", NAME, GATEWAY_API, _gateway(address.name), {"networking.gke.io/certmap": certificates}
        )
        backends = {service: self._backend(service) for service in dict.fromkeys(args.serving.hosts.values())}
        for host, service in args.serving.hosts.items():
            self._route(host, service, [gateway, *backends[service]])
        self._members()
        self.register_outputs({"address": self.address})

    def _object(
        self,
        kind: str,
        name: str,
        api_version: str,
        spec: Mapping[str, Any],
        annotations: Mapping[str, pulumi.Input[str]] | None = None,
        after: list[pulumi.Resource] | None = None,
    ) -> CustomResource:
        namespace = self._args.namespace
        return CustomResource(
            self.named(f"{namespace}/{name}"),
            api_version=api_version,
            kind=kind,
            metadata=ObjectMetaArgs(name=name, namespace=namespace, annotations=annotations),
            spec=spec,
            opts=self.child(depends_on=after),
        )

    def _backend(self, ray_service: str) -> list[pulumi.Resource]:
        """Declares IAP and the health check of a RayService's proxies."""
        target = {"group": "", "kind": "Service", "name": _service(ray_service)}
        check = {"type": "HTTP", "httpHealthCheck": {"port": SERVE, "requestPath": HEALTH_PATH}}
        serving = self._args.serving
        asked = {"iap": _iap(serving), "timeoutSec": serving.timeout_seconds}
        checked = {"default": {"config": check}, "targetRef": target}
        return [
            self._object("GCPBackendPolicy", ray_service, GKE_API, {"default": asked, "targetRef": target}),
            self._object("HealthCheckPolicy", ray_service, GKE_API, checked),
        ]

    def _route(self, host: str, ray_service: str, after: list[pulumi.Resource]) -> None:
        """Declares a host's route, after the backend's policies: before them it would be open to everyone."""
        route = {
            "parentRefs": [{"name": NAME}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": _service(ray_service), "port": SERVE}]}],
        }
        self._object("HTTPRoute", host, GATEWAY_API, route, after=after)

    def _certificates(self) -> pulumi.Output[str]:
        """Declares certificates that Google issues and renews, and returns their map's name."""
        namespace, project = self._args.namespace, self._args.google.project
        cluster, hosts = self._args.google.cluster, list(self._args.serving.hosts)
        entries = certificatemanager.CertificateMap(
            self.named(f"{namespace}-serving"),
            name=cluster.unique(namespace, "serving"),
            project=project,
            opts=self._named_once,
        )
        for host in hosts:
            name = f"{namespace}-{host.replace('.', '-')}"
            certificate = certificatemanager.Certificate(
                self.named(name),
                name=cluster.unique(namespace, host, "tls"),
                project=project,
                managed=certificatemanager.CertificateManagedArgs(domains=[host]),
                opts=self._named_once,
            )
            certificatemanager.CertificateMapEntry(
                self.named(name),
                name=cluster.unique(namespace, host, "tls"),
                project=project,
                map=entries.name,
                hostname=host,
                certificates=[certificate.id],
                opts=self._named_once,
            )
        return entries.name

    def _members(self) -> None:
        """Grants IAP's role, which is the project's, on the condition that the request is for these hosts."""
        hosts = list(self._args.serving.hosts)
        expression = " || ".join(f'request.host == "{host}"' for host in hosts)
        for member in self._args.serving.iap.members:
            iap.WebIamMember(
                self.named(f"{self._args.namespace}-serving-{member}"),
                project=self._args.google.project,
                role="roles/iap.httpsResourceAccessor",
                member=member,
                condition=iap.WebIamMemberConditionArgs(
                    title=f"{self._args.namespace}-serving", expression=expression
                ),
                opts=self._google,
            )


def _service(ray_service: str) -> str:
    """Returns KubeRay's name for the Service of a RayService's proxies."""
    return f"{ray_service}-serve-svc"


def _gateway(address: pulumi.Input[str]) -> dict[str, Any]:
    https = {
        "name": "https",
        "protocol": "HTTPS",
        "port": 443,
        "allowedRoutes": {"namespaces": {"from": "Same"}},
    }
    return {
        "gatewayClassName": CLASS,
        "addresses": [{"type": "NamedAddress", "value": address}],
        "listeners": [https],
    }


def _iap(serving: Serving) -> dict[str, Any]:
    client = serving.iap.oauth_client
    if client is None:
        return {"enabled": True}
    return {"enabled": True, "clientID": client.id, "oauth2ClientSecret": {"name": client.secret_name}}
