"""The platform: all components of a stack, in dependency order."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.admission.from_settings import policies_of
from components.admission.policies import AdmissionPolicies
from components.base import Component
from components.controller.image import Image, ImageArgs
from components.controller.journal import JournalBucket, JournalBucketArgs, JournalPlace, journal_folder
from components.controller.page import Page, PageArgs
from components.controller.pod import NAME, NAMESPACE, PodArgs
from components.controller.reconciler import Reconciler
from components.controller.signature import Signature, SignatureArgs
from components.foundation.existing import ExistingCluster, ExistingClusterArgs
from components.foundation.foundation import Foundation, FoundationArgs
from components.foundation.image_policy import ImagePolicy, ImagePolicyArgs, operator_patterns
from components.foundation.joined import JoinedCluster, JoinedClusterArgs
from components.observability.observability import Observability, ObservabilityArgs
from components.operators.gpu_operator import RUNTIME_CLASS, GpuOperator, GpuOperatorArgs
from components.operators.gpudirect import GpuDirect, GpuDirectArgs, installers
from components.operators.jobset import JobSet, JobSetArgs
from components.operators.kai import Kai, KaiArgs
from components.operators.kuberay import KubeRay, KubeRayArgs
from components.operators.kueue import Kueue, KueueArgs
from components.operators.lws import LeaderWorkerSet, LeaderWorkerSetArgs
from components.outputs import outputs
from components.queues.kai_queues import KaiQueues, KaiQueuesArgs
from components.queues.queues import Priorities, PrioritiesArgs, Queues, QueuesArgs
from components.tenants.deployer import TenantsDeployer, TenantsDeployerArgs
from components.tenants.tenants import Tenants, TenantsArgs
from settings.load import Settings
from settings.model.controller import Build, Controller
from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from settings.model.split import PARTS, READ_BY, Split
from settings.split import fingerprint


@dataclass(frozen=True)
class PlatformArgs:
    """`settings`: the entire platform; `stack`: the name of the stack that deploys it, or with `split` its
    part of it."""

    settings: Settings
    split: Split | None = None
    stack: str = ""


class Platform(Component):
    """All components of one environment, or of a part of it; `outputs` are the stack's outputs.

    The controllers that remove finalizers (KubeRay and the engine) come before the queues, and these before
    the tenants' namespaces. So `pulumi destroy` deletes the namespaces first, then the queues, which are in
    use until the namespaces' gangs have ended, and the controllers last (docs/removing.md).
    """

    def __init__(self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Platform", name, opts)
        settings = args.settings
        self._parts = args.split.parts_of(args.stack) if args.split else frozenset(PARTS)
        self._place: JournalPlace | None = None
        self.cluster = self._cluster(args)
        engine: list[pulumi.Resource] = []
        if "cluster" in self._parts:
            engine = self._in_the_cluster(args)
        elif "tenants" in self._parts:
            self._policies(settings, [])
        archive = self._observability(settings, engine) if self._parts != {"foundation"} else None
        tenants = self._queues_and_tenants(settings, engine) if "tenants" in self._parts else None
        self.outputs = outputs(settings, self.cluster, tenants, self._place, archive)
        if args.split:
            self.outputs["settings"] = {p: fingerprint(settings, p) for p in READ_BY if p in self._parts}
        self.register_outputs(self.outputs)

    def _in_the_cluster(self, args: PlatformArgs) -> list[pulumi.Resource]:
        """Declares the operators, the policies, the priorities and the controller; returns what the queues
        need."""
        settings = args.settings
        kuberay, kueue, operators = self._operators(settings, self._inside([self.cluster]))
        policies = self._policies(settings, [kuberay])
        apis: list[pulumi.Resource] = [kuberay, kueue, *operators]
        engine: list[pulumi.Resource] = [*apis, policies]
        if settings.admission.engine == "muster" and settings.controller:
            engine.append(self._reconciler(settings, settings.controller, apis))
        if settings.admission.engine != "kai":
            priorities = PrioritiesArgs(settings.admission.priorities)
            Priorities("priorities", priorities, self._inside(engine))
        if args.split and args.split.tenants_deployer:
            rights = TenantsDeployerArgs(args.split.tenants_deployer)
            TenantsDeployer("tenants-deployer", rights, self._inside([self.cluster]))
        return engine

    def _policies(self, settings: Settings, after: Sequence[pulumi.Resource]) -> AdmissionPolicies:
        policies = policies_of(settings, self._parts)
        return AdmissionPolicies("admission-policies", policies, self._inside(after))

    def _queues_and_tenants(self, settings: Settings, engine: Sequence[pulumi.Resource]) -> Tenants:
        if settings.admission.engine == "kai":
            kai = KaiQueuesArgs(settings.queues, settings.admission.priorities)
            kai_queues = KaiQueues("kai-queues", kai, self._inside(engine))
            return self._tenants(settings, [*engine, kai_queues])
        queues = self._queues(settings, engine)
        tenants = self._tenants(settings, [*engine, *queues.cluster_queues.values()])
        queues.add_local_queues(settings.tenants, tenants.namespaces)
        return tenants

    def _inside(self, after: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        """Returns the options of a component inside the cluster."""
        return self.child(provider=self.cluster.kubernetes, depends_on=after)

    def _cluster(self, args: PlatformArgs) -> Foundation | ExistingCluster | JoinedCluster:
        """Declares the cluster with its network and nodes, or what the stack adds to an existing one, or
        joins the cluster of another stack."""
        settings, cluster = args.settings, args.settings.cluster
        name = "cluster" if isinstance(cluster, Existing) else "foundation"
        if "foundation" not in self._parts:
            assert args.split, "a stack without the foundation is a part of a platform"
            joined = JoinedClusterArgs(settings, args.split, self._parts)
            return JoinedCluster(name, joined, self.child())
        if isinstance(cluster, Existing):
            return ExistingCluster(name, ExistingClusterArgs(settings, cluster, self._parts), self.child())
        assert settings.project, "the settings' rules require a project for GKE"
        foundation = FoundationArgs(settings, cluster, settings.project, self._parts)
        return Foundation(name, foundation, self.child())

    def _operators(
        self, settings: Settings, opts: pulumi.ResourceOptions
    ) -> tuple[KubeRay, Kueue, list[pulumi.Resource]]:
        """Declares KubeRay, Kueue and the optional operators, and returns all of them."""
        engine, gpus = settings.admission.engine, settings.gpu_operator
        selector = settings.system_pool.node_labels if settings.system_pool else {}
        kuberay = KubeRay("kuberay", KubeRayArgs(settings.kuberay, engine, selector), opts)
        protect = _protected(settings)
        kueue = Kueue(
            "kueue",
            KueueArgs(settings.kueue, engine, selector, protect, settings.admission.device_classes),
            opts,
        )
        others: list[pulumi.Resource] = []
        if settings.jobset.install == "helm":
            others.append(JobSet("jobset", JobSetArgs(settings.jobset, selector), opts))
        if settings.lws.install == "helm":
            others.append(LeaderWorkerSet("lws", LeaderWorkerSetArgs(settings.lws, selector), opts))
        if gpus.install == "helm":
            shared = engine == "kai"
            others.append(GpuOperator("gpu-operator", GpuOperatorArgs(gpus, selector, shared), opts))
        # The pools of a cluster that is not known to be on GKE are all there already.
        plugins = installers(settings.gpudirect, settings.pools if settings.place else ())
        if plugins:
            others.append(GpuDirect("gpudirect", GpuDirectArgs(plugins), opts))
        if engine == "kai":
            runtime_class = "" if gpus.install == "none" else RUNTIME_CLASS
            others.append(Kai("kai", KaiArgs(settings.kai, selector, runtime_class), opts))
        return kuberay, kueue, others

    def _reconciler(
        self, settings: Settings, controller: Controller, apis: Sequence[pulumi.Resource]
    ) -> Reconciler:
        image: pulumi.Input[str] = controller.image or ""
        signature = None
        if controller.build:
            image, signature = self._image(settings, controller.build)
        selector = settings.system_pool.node_labels if settings.system_pool else {}
        self._place, before = self._journal(settings, controller)
        pods = PodArgs(controller, settings.admission.elastic, image, selector, self._place)
        reconciler = Reconciler("reconciler", pods, self._inside([*apis, *before]))
        if controller.page is not None:
            Page("page", PageArgs(controller.page, pods), self._inside([*apis, reconciler.namespace]))
        if signature is not None:
            self._image_policy(settings, signature, [reconciler])
        return reconciler

    def _image(self, settings: Settings, build: Build) -> tuple[pulumi.Output[str], Signature | None]:
        """Declares the image, and its signature if the stack asks for one."""
        google = self.cluster.google
        assert google, "the settings' rules require GKE for a build"
        args = ImageArgs(build, settings.cluster.name, google)
        image = Image("image", args, self.child()).ref
        if build.signature is None:
            return image, None
        signed = SignatureArgs(build.signature, args.repository, image, google)
        signature = Signature("signature", signed, self.child())
        return signature.image, signature

    def _image_policy(
        self, settings: Settings, signature: Signature, after: Sequence[pulumi.Resource]
    ) -> None:
        """Declares the policy after the controller: before its first signature it would refuse its pods."""
        build = settings.controller.build if settings.controller else None
        required = build.signature.required if build and build.signature else None
        if required is None:
            return
        assert self.cluster.google, "the settings' rules require GKE for a build"
        assert settings.place, "the settings' rules require GKE for a build"
        patterns = [*operator_patterns(settings), *required.other_images]
        args = ImagePolicyArgs(settings.place, signature.attestor, patterns, self.cluster.google)
        ImagePolicy("image-policy", args, self.child(depends_on=after))

    def _journal(
        self, settings: Settings, controller: Controller
    ) -> tuple[JournalPlace | None, Sequence[pulumi.Resource]]:
        """Returns where the journal is kept, and what must exist before."""
        if controller.journal is None:
            return None, ()
        if self.cluster.google is None:
            return JournalPlace(journal_folder(settings.cluster.name)), ()
        args = JournalBucketArgs(
            controller.journal,
            settings.cluster.name,
            f"{NAMESPACE}/{NAME}",
            self.cluster.google,
            _protected(settings),
        )
        # The identity's pool of principals exists once the cluster does.
        bucket = JournalBucket("journal", args, self.child(depends_on=[self.cluster]))
        return bucket.place, [bucket]

    def _observability(
        self, settings: Settings, engine: Sequence[pulumi.Resource]
    ) -> pulumi.Output[str] | None:
        """Declares logs, metrics and alerts of a new cluster; returns the bucket of old logs, if any."""
        cluster = settings.cluster
        if settings.observability and isinstance(cluster, Gke) and self.cluster.google:
            args = ObservabilityArgs(
                observability=settings.observability,
                cluster=cluster,
                engine=settings.admission.engine,
                kuberay=settings.kuberay,
                tenants=[tenant.namespace for tenant in settings.tenants],
                google=self.cluster.google,
                parts=self._parts,
            )
            return Observability("observability", args, self._inside(engine)).archive
        return None

    def _tenants(self, settings: Settings, after: Sequence[pulumi.Resource]) -> Tenants:
        args = TenantsArgs(
            tenants=settings.tenants,
            protect=_protected(settings),
            google=self.cluster.google,
            operator_hosted=settings.kuberay.install == "addon",
            api_servers=self.cluster.api_servers,
        )
        return Tenants("tenants", args, self._inside(after))

    def _queues(self, settings: Settings, engine: Sequence[pulumi.Resource]) -> Queues:
        queues = QueuesArgs(
            settings.pools,
            settings.queues,
            settings.admission.queued_provisioning,
            settings.admission.device_quotas,
            in_gke=settings.place is not None,
        )
        return Queues("queues", queues, self._inside(engine))


def _protected(settings: Settings) -> bool:
    """Returns whether resources that hold users' work are protected from deletion, as the cluster is."""
    return settings.place is not None and settings.place.protected
