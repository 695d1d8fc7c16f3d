"""The page of `muster serve` next to the controller: it may only read, and is closed to the network."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment, DeploymentSpecArgs
from pulumi_kubernetes.core.v1 import (
    ContainerArgs,
    ContainerPortArgs,
    HTTPGetActionArgs,
    HTTPHeaderArgs,
    PodSpecArgs,
    PodTemplateSpecArgs,
    ProbeArgs,
    ResourceRequirementsArgs,
    Service,
    ServiceAccount,
    ServicePortArgs,
    ServiceSpecArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyEgressRuleArgs,
    NetworkPolicySpecArgs,
)
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, RoleRefArgs, SubjectArgs

from components.base import Component
from components.cluster_egress import tcp
from components.controller.ingress import ingress_from
from components.controller.pod import (
    HTTP_PORT,
    NAMESPACE,
    PodArgs,
    configuration_arguments,
    container_security,
    pod_security,
    tolerations,
)
from components.controller.rbac import PAGE_RULES
from components.controller.reconciler import API_SERVER_PORTS, RBAC
from components.operators.charts import container_resources
from settings.model.controller import Page as Settings

NAME = "muster-page"
LABELS = {"app.kubernetes.io/name": NAME}


@dataclass(frozen=True)
class PageArgs:
    """`pods` are the controller's: the page has its image and its configuration."""

    page: Settings
    pods: PodArgs


class Page(Component):
    """A Deployment with its own ServiceAccount, and a Service for gateways and port-forward."""

    def __init__(self, name: str, args: PageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Page", name, opts)
        account = ServiceAccount(self.named(NAME), metadata=_metadata(), opts=self.child())
        before = [account, self._may_read(), self._network_policy(args.page)]
        Deployment(
            self.named(NAME), metadata=_metadata(), spec=_deployment(args), opts=self.child(depends_on=before)
        )
        Service(
            self.named(NAME),
            metadata=_metadata(),
            spec=ServiceSpecArgs(
                selector=LABELS, ports=[ServicePortArgs(name="http", port=80, target_port="http")]
            ),
            opts=self.child(),
        )
        self.register_outputs({})

    def _may_read(self) -> pulumi.Resource:
        everywhere = ObjectMetaArgs(name=NAME, labels=LABELS)
        role = ClusterRole(self.named(NAME), metadata=everywhere, rules=PAGE_RULES, opts=self.child())
        return ClusterRoleBinding(
            self.named(NAME),
            metadata=everywhere,
            role_ref=RoleRefArgs(api_group=RBAC, kind="ClusterRole", name=NAME),
            subjects=[SubjectArgs(kind="ServiceAccount", name=NAME, namespace=NAMESPACE)],
            opts=self.child(depends_on=[role]),
        )

    def _network_policy(self, settings: Settings) -> pulumi.Resource:
        """Allows egress to the API server only, and ingress from the gateways' namespaces; kubelets' probes
        and port-forward pass every policy."""
        return NetworkPolicy(
            self.named(NAME),
            metadata=_metadata(),
            spec=NetworkPolicySpecArgs(
                pod_selector=LabelSelectorArgs(match_labels=LABELS),
                policy_types=["Ingress", "Egress"],
                ingress=ingress_from(settings.namespaces),
                egress=[NetworkPolicyEgressRuleArgs(ports=tcp(API_SERVER_PORTS))],
            ),
            opts=self.child(),
        )


def _deployment(args: PageArgs) -> DeploymentSpecArgs:
    resources = container_resources(args.page.resources)
    container = ContainerArgs(
        name="page",
        image=args.pods.image,
        command=["python", "-m", "muster"],
        args=[
            "serve",
            f"--address=0.0.0.0:{HTTP_PORT}",
            *(f"--host-name={name}" for name in args.page.host_names),
            *configuration_arguments(args.pods),
        ],
        ports=[ContainerPortArgs(name="http", container_port=HTTP_PORT)],
        liveness_probe=_probe(),
        readiness_probe=_probe(),
        resources=ResourceRequirementsArgs(requests=resources["requests"], limits=resources["limits"]),
        security_context=container_security(),
    )
    return DeploymentSpecArgs(
        replicas=1,
        selector=LabelSelectorArgs(match_labels=LABELS),
        template=PodTemplateSpecArgs(
            metadata=ObjectMetaArgs(labels=LABELS),
            spec=PodSpecArgs(
                service_account_name=NAME,
                node_selector=args.pods.node_selector,
                tolerations=tolerations(),
                security_context=pod_security(),
                containers=[container],
            ),
        ),
    )


def _probe() -> ProbeArgs:
    """Returns a probe with a host that the page answers: a kubelet's would be the pod's address."""
    host = HTTPHeaderArgs(name="Host", value="localhost")
    return ProbeArgs(
        http_get=HTTPGetActionArgs(path="/healthz", port="http", http_headers=[host]),
        period_seconds=10,
        timeout_seconds=5,
        failure_threshold=3,
    )


def _metadata() -> ObjectMetaArgs:
    return ObjectMetaArgs(name=NAME, namespace=NAMESPACE, labels=LABELS)
