"""The controller's Deployment: its pods, and its rollout strategy."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

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
    TolerationArgs,
    TopologySpreadConstraintArgs,
    VolumeMountArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs

from components.controller.journal import MOUNTED_AT, VOLUME, JournalPlace
from components.operators.charts import container_resources
from settings.manifests.configuration import controller_configuration
from settings.manifests.lost_nodes import lost_node_tolerations
from settings.model.controller import Controller
from settings.model.operators import namespaces
from settings.model.queues.admission import Elastic

NAMESPACE = namespaces.MUSTER
NAME = "muster-controller"
LABELS = {"app.kubernetes.io/name": NAME}
HTTP_PORT = 8080
PRIORITY_CLASS = "system-cluster-critical"  # no gang's pods can preempt it
USER_ID = 65532  # "nonroot" in distroless images, and in the Dockerfile
SURGE = 1
SPREAD_OVER = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
GRACE_S = 30  # for the running pass to end and the Lease to be released


@dataclass(frozen=True)
class PodArgs:
    """`node_selector` selects the nodes that it may run on; `journal` None: none is kept."""

    controller: Controller
    elastic: Elastic
    image: pulumi.Input[str]
    node_selector: Mapping[str, str]
    journal: JournalPlace | None


def deployment(args: PodArgs) -> DeploymentSpecArgs:
    """Returns the spec of the controller's Deployment."""
    return DeploymentSpecArgs(
        replicas=args.controller.replicas,
        # old replicas end once new ones have synced, so that the next holder of the Lease need not sync
        strategy=DeploymentStrategyArgs(
            type="RollingUpdate",
            rolling_update=RollingUpdateDeploymentArgs(max_surge=SURGE, max_unavailable=0),
        ),
        selector=LabelSelectorArgs(match_labels=LABELS),
        template=PodTemplateSpecArgs(
            metadata=ObjectMetaArgs(labels=LABELS, annotations=_annotations(args.journal)),
            spec=_pod(args),
        ),
    )


def _annotations(journal: JournalPlace | None) -> dict[str, str] | None:
    """Returns the annotation by which GKE adds the container that mounts a bucket."""
    return {"gke-gcsfuse/volumes": "true"} if journal is not None and journal.bucket is not None else None


def _pod(args: PodArgs) -> PodSpecArgs:
    return PodSpecArgs(
        service_account_name=NAME,
        priority_class_name=PRIORITY_CLASS,
        node_selector=args.node_selector,
        tolerations=tolerations(),
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
        security_context=pod_security(),
        containers=[_container(args)],
        volumes=[args.journal.volume(USER_ID)] if args.journal is not None else None,
    )


def _container(args: PodArgs) -> ContainerArgs:
    settings, journal = args.controller, args.journal
    resources = container_resources(settings.resources)
    return ContainerArgs(
        name="controller",
        image=args.image,
        command=["python", "-m", "muster"],
        args=[
            "controller",
            f"--log-level={settings.log_level}",
            f"--http-address=:{HTTP_PORT}",
            *configuration_arguments(args),
            *([f"--journal={journal.folder}"] if journal is not None else ()),
            *(["--eta"] if settings.eta else ()),
        ],
        env=[_field("POD_NAME", "metadata.name"), _field("POD_NAMESPACE", "metadata.namespace")],
        ports=[ContainerPortArgs(name="http", container_port=HTTP_PORT)],
        volume_mounts=[VolumeMountArgs(name=VOLUME, mount_path=MOUNTED_AT)] if journal is not None else None,
        liveness_probe=_probe("/healthz"),
        readiness_probe=_probe("/readyz"),
        resources=ResourceRequirementsArgs(requests=resources["requests"], limits=resources["limits"]),
        security_context=container_security(),
    )


def tolerations() -> list[TolerationArgs]:
    """Returns the tolerations for a lost node."""
    return [
        TolerationArgs(
            key=toleration["key"],
            operator=toleration["operator"],
            effect=toleration["effect"],
            toleration_seconds=toleration["tolerationSeconds"],
        )
        for toleration in lost_node_tolerations()
    ]


def pod_security() -> PodSecurityContextArgs:
    """Returns what the Pod Security Standard `restricted` asks of a pod."""
    return PodSecurityContextArgs(
        run_as_non_root=True,
        run_as_user=USER_ID,
        run_as_group=USER_ID,
        seccomp_profile=SeccompProfileArgs(type="RuntimeDefault"),
    )


def container_security() -> SecurityContextArgs:
    """Returns what it asks of a container, with a root file system that is read-only."""
    return SecurityContextArgs(
        allow_privilege_escalation=False,
        read_only_root_filesystem=True,
        capabilities=CapabilitiesArgs(drop=["ALL"]),
    )


def configuration_arguments(args: PodArgs) -> list[str]:
    """Returns the argument with the configuration; none if it is the default."""
    differences = controller_configuration(args.controller, args.elastic)
    return [f"--configuration={json.dumps(differences)}"] if differences else []


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
