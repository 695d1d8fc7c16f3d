"""The controller's Deployment: its pods, and its rollout strategy."""

import json
from collections.abc import Mapping

import pulumi
from pulumi_kubernetes.apps.v1 import DeploymentSpecArgs, DeploymentStrategyArgs, RollingUpdateDeploymentArgs
from pulumi_kubernetes.core.v1 import (
    CapabilitiesArgs,
    ContainerArgs,
    ContainerPortArgs,
    EnvVarArgs,
    EnvVarSourceArgs,
    HTTPGetActionArgs,
    ObjectFieldSelectorArgs,
    PodSecurityContextArgs,
    PodSpecArgs,
    PodTemplateSpecArgs,
    ProbeArgs,
    ResourceRequirementsArgs,
    SeccompProfileArgs,
    SecurityContextArgs,
    TopologySpreadConstraintArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs

from components.controller.configuration import configuration
from components.operators.charts import container_resources
from settings.model.controller import Controller
from settings.model.operators import namespaces

NAMESPACE = namespaces.MUSTER
NAME = "muster-controller"
LABELS = {"app.kubernetes.io/name": NAME}
HTTP_PORT = 8080
PRIORITY_CLASS = "system-cluster-critical"  # no gang's pods can preempt it
USER_ID = 65532  # "nonroot" in distroless images, and in the Dockerfile
SURGE = 1
SPREAD_OVER = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
GRACE_S = 30  # for the running pass to end and the Lease to be released


def deployment(
    settings: Controller, image: pulumi.Input[str], node_selector: Mapping[str, str]
) -> DeploymentSpecArgs:
    return DeploymentSpecArgs(
        replicas=settings.replicas,
        # old replicas end once new ones have synced, so that the next holder of the Lease decides at once
        strategy=DeploymentStrategyArgs(
            type="RollingUpdate",
            rolling_update=RollingUpdateDeploymentArgs(max_surge=SURGE, max_unavailable=0),
        ),
        selector=LabelSelectorArgs(match_labels=LABELS),
        template=PodTemplateSpecArgs(
            metadata=ObjectMetaArgs(labels=LABELS), spec=_pod(settings, image, node_selector)
        ),
    )


def _pod(settings: Controller, image: pulumi.Input[str], node_selector: Mapping[str, str]) -> PodSpecArgs:
    return PodSpecArgs(
        service_account_name=NAME,
        priority_class_name=PRIORITY_CLASS,
        node_selector=node_selector,
        termination_grace_period_seconds=GRACE_S,
        topology_spread_constraints=[
            TopologySpreadConstraintArgs(
                max_skew=1,
                topology_key=key,
                when_unsatisfiable="ScheduleAnyway",  # two replicas on one node are better than one
                label_selector=LabelSelectorArgs(match_labels=LABELS),
            )
            for key in SPREAD_OVER
        ],
        security_context=PodSecurityContextArgs(
            run_as_non_root=True,
            run_as_user=USER_ID,
            run_as_group=USER_ID,
            seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
        ),
        containers=[_container(settings, image)],
    )


def _container(settings: Controller, image: pulumi.Input[str]) -> ContainerArgs:
    resources = container_resources(settings.resources)
    return ContainerArgs(
        name="controller",
        image=image,
        command=["python", "-m", "muster"],
        args=[
            "controller",
            f"--log-level={settings.log_level}",
            f"--http-address=:{HTTP_PORT}",
            *_configuration(settings),
        ],
        env=[_field("POD_NAME", "metadata.name"), _field("POD_NAMESPACE", "metadata.namespace")],
        ports=[ContainerPortArgs(name="http", container_port=HTTP_PORT)],
        liveness_probe=_probe("/healthz"),
        readiness_probe=_probe("/readyz"),
        resources=ResourceRequirementsArgs(requests=resources["requests"], limits=resources["limits"]),
        security_context=SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=CapabilitiesArgs(drop=["ALL"]),
        ),
    )


def _configuration(settings: Controller) -> list[str]:
    wanted = configuration(settings)
    return [f"--configuration={json.dumps(wanted)}"] if wanted else []


def _field(name: str, path: str) -> EnvVarArgs:
    return EnvVarArgs(
        name=name, value_from=EnvVarSourceArgs(field_ref=ObjectFieldSelectorArgs(field_path=path))
    )


def _probe(path: str) -> ProbeArgs:
    return ProbeArgs(
        http_get=HTTPGetActionArgs(path=path, port="http"),
        period_seconds=10,
        timeout_seconds=5,
        failure_threshold=3,
    )
