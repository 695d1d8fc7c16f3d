"""Rules of operators: which can be combined, and which keys would have no effect."""

from collections.abc import Iterator

from muster.cluster.jobs.rayservice import RAY_SERVICE
from settings.model.base import Model
from settings.model.foundation.existing import Existing
from settings.model.operators.jobset import JOBSET_VERSION
from settings.model.operators.kuberay import KUBERAY_VERSION, SINCE_1_7, UNTIL_1_7
from settings.model.operators.kueue import DEFAULT_FRAMEWORKS, KUEUE_VERSION
from settings.model.operators.kueue_gates import KUEUE_GATES
from settings.model.operators.lws import LWS_VERSION
from settings.model.operators.shared import release_numbers
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, did_you_mean
from settings.rules.registry import doubt, rule

KUEUE_OLDEST, KUBERAY_OLDEST, KUBERAY_1_7 = (0, 15, 0), (1, 1, 0), (1, 7, 0)
# The admission policies suspend these; with engine `kueue` only Kueue unsuspends them.
# RayServices may be left to other engines, as Kueue 0.19 can't resume those of KubeRay 1.7 (see below).
SUSPENDED_FRAMEWORKS = tuple(name for name in DEFAULT_FRAMEWORKS if name != RAY_SERVICE.framework)


@rule("cluster", "kuberay", "admission", "tenants")
def kuberay_suits_the_stack(settings: Settings) -> Iterator[Finding]:
    """GKE's Ray add-on requires a GKE cluster and an engine other than kai, and a KubeRay that watches some
    namespaces watches all tenants' namespaces (GKE, Ray add-on; KubeRay, watchNamespace)."""
    kuberay, path = settings.kuberay, ("muster:kuberay",)
    if kuberay.install == "addon" and isinstance(settings.cluster, Existing):
        yield Finding(
            (*path, "install"),
            "helm or existing: the add-on requires a GKE cluster that the stack creates",
            "write helm",
        )
    elif kuberay.install == "addon" and settings.admission.engine == "kai":
        yield Finding(
            (*path, "install"),
            "helm or existing: KubeRay must run with --batch-scheduler=kai-scheduler, which GKE's Ray add-on "
            "does not support",
            "write helm, or choose another engine",
        )
    unseen = [tenant.namespace for tenant in settings.tenants]
    unseen = [name for name in unseen if name not in kuberay.watch_namespaces]
    if kuberay.watch_namespaces and unseen:
        yield Finding(
            (*path, "watchNamespaces"),
            f"all tenants' namespaces: KubeRay would ignore the jobs of {', '.join(unseen)}",
            f"add {', '.join(unseen)}, or remove `watchNamespaces` to watch all namespaces",
        )


@rule("kueue", "admission")
def kueue_starts_what_is_suspended(settings: Settings) -> Iterator[Finding]:
    """Frameworks include RayJobs, RayClusters, Jobs and JobSets with engine kueue: queued ones are suspended
    at creation, and only Kueue unsuspends them (Kueue: apis/config/v1beta2, Integrations)."""
    missing = [name for name in SUSPENDED_FRAMEWORKS if name not in settings.kueue.frameworks]
    if settings.admission.engine == "kueue" and missing:
        yield Finding(
            ("muster:kueue", "frameworks"),
            f"a list with {', '.join(SUSPENDED_FRAMEWORKS)}: queued ones are suspended at creation, and "
            "only Kueue unsuspends them",
            f"add {', '.join(missing)}",
        )


@rule("kueue", "admission")
def kueue_knows_its_gates(settings: Settings) -> Iterator[Finding]:
    """Feature gates are known to the default version of Kueue, which exits on an unknown one (Kueue,
    pkg/features/kube_features.go).

    Other versions have other gates, which are not known here.
    """
    kueue = settings.kueue
    if settings.admission.engine != "kueue" or kueue.version != KUEUE_VERSION:
        return
    for gate in kueue.feature_gates:
        if gate not in KUEUE_GATES:
            yield Finding(
                ("muster:kueue", "featureGates", gate),
                f"a feature gate of Kueue {KUEUE_VERSION} (pkg/features/kube_features.go)",
                did_you_mean(gate, sorted(KUEUE_GATES), shown=3),
            )


@rule("kuberay", "kueue")
def versions_serve_what_is_used(settings: Settings) -> Iterator[Finding]:
    """Kueue serves v1beta2 of its API, by which queues are declared, from 0.15.0 on (Kueue, CHANGELOG-0.15);
    KubeRay suspends RayClusters from 1.1.0 on (Kueue, "Run a RayCluster")."""
    kueue, kuberay = settings.kueue, settings.kuberay
    if release_numbers(kueue.version) < KUEUE_OLDEST:
        yield Finding(
            ("muster:kueue", "version"),
            "0.15.0 or later, the first version that serves v1beta2 of its API (Kueue, CHANGELOG-0.15)",
            f"raise it, or remove it for {KUEUE_VERSION}",
        )
    if release_numbers(kuberay.chart_version) < KUBERAY_OLDEST:
        yield Finding(
            ("muster:kuberay", "version"),
            "1.1.0 or later, the first version that suspends RayClusters (KubeRay)",
            f"raise it, or remove it for {KUBERAY_VERSION}",
        )


@doubt("kuberay", "kueue", "jobset", "lws", "admission")
def versions_may_be_too_new(settings: Settings) -> Iterator[Doubt]:
    """Admission policies and views of objects were tested with certain versions of the operators; a later one
    may have fields that they do not know (docs/upgrading.md)."""
    tested = {
        "muster:kuberay": ("KubeRay", settings.kuberay.chart_version, KUBERAY_1_7),
        "muster:kueue": ("Kueue", settings.kueue.version, release_numbers(KUEUE_VERSION)),
        "muster:jobset": ("JobSet", settings.jobset.version, release_numbers(JOBSET_VERSION)),
        "muster:lws": ("LeaderWorkerSet", settings.lws.version, release_numbers(LWS_VERSION)),
    }
    if settings.admission.engine == "kai":
        del tested["muster:kueue"]
    for key, (name, version, newest) in tested.items():
        if release_numbers(version)[:2] > newest[:2]:
            yield Doubt(
                (key, "version"),
                f"the newest {name} that this version of Muster was tested with is "
                f"{'.'.join(map(str, newest))}: policies do not know fields that later ones add",
                "docs/upgrading.md",
            )


@doubt("jobset", "lws")
def versions_may_be_too_old(settings: Settings) -> Iterator[Doubt]:
    """Charts, CRDs and the fields that suspend objects were tested with certain versions of the operators
    (docs/upgrading.md)."""
    tested = {
        "muster:jobset": ("JobSet", settings.jobset.version, JOBSET_VERSION),
        "muster:lws": ("LeaderWorkerSet", settings.lws.version, LWS_VERSION),
    }
    for key, (name, version, oldest) in tested.items():
        if release_numbers(version)[:2] < release_numbers(oldest)[:2]:
            yield Doubt(
                (key, "version"),
                f"the oldest {name} that this version of Muster was tested with is {oldest}",
                "docs/upgrading.md",
            )


@rule("kuberay")
def kuberay_knows_its_gates(settings: Settings) -> Iterator[Finding]:
    """Feature gates are known to the version of KubeRay, which exits on an unknown one (KubeRay,
    ray-operator/pkg/features/features.go at v1.6.2 and v1.7.0)."""
    kuberay = settings.kuberay
    is_1_7 = release_numbers(kuberay.chart_version) >= KUBERAY_1_7
    for gate in kuberay.feature_gates:
        if gate in (UNTIL_1_7 if is_1_7 else SINCE_1_7):
            change = "1.7.0 removed it" if is_1_7 else "1.7.0 adds it"
            yield Finding(
                ("muster:kuberay", "featureGates", gate),
                f"a feature gate of KubeRay {kuberay.chart_version}: {change}",
                "remove it" if is_1_7 else "remove it, or set muster:kuberay.version to 1.7.0",
            )


@rule("kuberay", "kueue", "admission")
def kueue_resumes_rayservices(settings: Settings) -> Iterator[Finding]:
    """KubeRay is older than 1.7.0 if Kueue admits RayServices: Kueue resumes them by
    rayClusterConfig.suspend, which KubeRay 1.7 reads only when it creates a cluster (Kueue 0.19.2,
    rayservice_controller.go: RunWithPodSetsInfo; KubeRay 1.7.0, rayservice_controller.go:
    modifyRayCluster)."""
    kuberay, service = settings.kuberay, "ray.io/rayservice"
    if settings.admission.engine != "kueue" or service not in settings.kueue.frameworks:
        return
    if kuberay.install == "helm" and release_numbers(kuberay.chart_version) >= KUBERAY_1_7:
        yield Finding(
            ("muster:kuberay", "version"),
            "a version before 1.7.0: Kueue resumes a RayService by rayClusterConfig.suspend, which KubeRay "
            "1.7 reads only when it creates a cluster",
            f"write {KUBERAY_VERSION}, or remove {service} from muster:kueue.frameworks",
        )


@rule("pools")
def operators_run_on_a_system_pool(settings: Settings) -> Iterator[Finding]:
    """One pool is on-demand and without accelerators: on nodes with GPUs operators would prevent scale-down,
    and on spot nodes a preemption would stop admission (GKE, queued provisioning).

    Stacks whose pools are all queued break `some_pool_is_not_queued` already.
    """
    if settings.system_pool is None and any(not pool.queued for pool in settings.pools):
        yield Finding(
            ("muster:pools",),
            "an on-demand pool without accelerators, for KubeRay and the other operators",
            "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
        )


@rule("kueue", "admission", "controller", "queues")
def fair_shares_are_weighed(settings: Settings) -> Iterator[Finding]:
    """Weights are given with `fairSharing` only, without which they have no effect (Kueue:
    apis/config/v1beta2).

    The configuration of a Kueue that is already installed is unknown.
    """
    engine, kueue, controller = settings.admission.engine, settings.kueue, settings.controller
    weighed = {
        "kueue": kueue.install == "existing" or kueue.fair_sharing is not None,
        "muster": controller is not None and controller.fair_sharing is not None,
    }
    if weighed.get(engine, True):
        return
    part = "muster:kueue" if engine == "kueue" else "muster:controller"
    weights = {
        "clusterQueues": [queue.weight for queue in settings.queues.cluster_queues],
        "cohorts": [cohort.weight for cohort in settings.queues.cohorts],
    }
    for key in weights:
        for i, weight in enumerate(weights[key]):
            if weight is not None:
                yield Finding(
                    ("muster:queues", key, i, "weight"),
                    f"no weight: it has no effect without `fairSharing` in `{part}`",
                    f"remove it, or add `{part}: {{fairSharing: {{}}}}`",
                )


@rule("kuberay", "jobset", "lws", "kueue", "kai", "gpu_operator", "gpudirect", "admission")
def configured_keys_are_used(settings: Settings) -> Iterator[Finding]:
    """An operator's keys are given only if its `install` and the engine use them: a key without effect would
    mislead its reader."""
    engine = settings.admission.engine
    kuberay, kueue, kai, gpus = settings.kuberay, settings.kueue, settings.kai, settings.gpu_operator
    if kuberay.install != "helm":
        why = f"install: {kuberay.install} does not use it"
        yield from _unread("muster:kuberay", kuberay, {"addon"}, why, "install: helm")
    if kuberay.install != "addon":
        why = f"with install: {kuberay.install} there is no add-on"
        read = set(type(kuberay).model_fields) - {"addon"}
        yield from _unread("muster:kuberay", kuberay, read, why, "install: addon")
    if kueue.install == "existing":
        yield from _unread("muster:kueue", kueue, set(), "Kueue is already installed", "install: upstream")
    elif engine == "muster":
        why = "engine muster installs Kueue's CRDs only"
        yield from _unread("muster:kueue", kueue, {"version"}, why, "engine: kueue")
    elif engine == "kai":
        why = "engine kai does not install Kueue"
        yield from _unread("muster:kueue", kueue, set(), why, "engine: kueue")
    if kai.install == "existing":
        yield from _unread("muster:kai", kai, set(), "KAI Scheduler is already installed", "install: helm")
    elif engine != "kai":
        yield from _unread(
            "muster:kai", kai, set(), f"engine {engine} does not install KAI Scheduler", "engine: kai"
        )
    if settings.jobset.install != "helm":
        why = f"install: {settings.jobset.install} installs nothing"
        yield from _unread("muster:jobset", settings.jobset, set(), why, "install: helm")
    if settings.lws.install != "helm":
        why = f"install: {settings.lws.install} installs nothing"
        yield from _unread("muster:lws", settings.lws, set(), why, "install: helm")
    if gpus.install != "helm":
        why = f"install: {gpus.install} installs nothing"
        yield from _unread("muster:gpuOperator", gpus, set(), why, "install: helm")
    if settings.gpudirect.install == "none":
        why = "install: none installs nothing"
        yield from _unread("muster:gpudirect", settings.gpudirect, set(), why, "install: manifests")


@rule("cluster", "pools", "gpu_operator")
def gpu_drivers_have_one_manager(settings: Settings) -> Iterator[Finding]:
    """Either GKE or the operator manages driver and device plugin (NVIDIA, "NVIDIA GPU Operator with Google
    GKE")."""
    install = settings.gpu_operator.install
    existing = settings.place is None
    if install == "helm" and existing:
        yield Finding(
            ("muster:gpuOperator", "install"),
            "none or existing: the stack configures the operator for GKE's nodes only",
            "install it yourself and write existing",
        )
        return
    for i, pool in enumerate(settings.pools):
        path = ("muster:pools", i, "gpu", "driver")
        if pool.gpu and install != "none" and pool.gpu.driver != "disabled" and not existing:
            yield Finding(
                path,
                "disabled: the GPU Operator is installed, and GKE's driver and device plugin would conflict "
                'with it (NVIDIA, "NVIDIA GPU Operator with Google GKE")',
                "write driver: disabled, or remove `muster:gpuOperator`",
            )
        if pool.gpu and install == "none" and pool.gpu.driver == "disabled" and not existing:
            yield Finding(
                path,
                "default or latest: nothing else installs a driver, so the nodes would offer no GPUs",
                "write latest, or add `muster:gpuOperator: {install: helm}`",
            )


@rule("pools", "gpudirect")
def nccl_plugins_have_one_installer(settings: Settings) -> Iterator[Finding]:
    """Arm and x86 nodes with RDMA are in separate clusters: both installers are a DaemonSet of the same
    name (container-engine-accelerators, gpudirect-rdma)."""
    plugins = [None if pool.existing else pool.nccl_plugin for pool in settings.pools]
    if settings.gpudirect.install == "manifests" and {"rdma", "rdma-arm"} <= set(plugins):
        yield Finding(
            ("muster:pools", plugins.index("rdma-arm"), "dranet"),
            "no value: a4x and other pools with RDMA need two installers of one name, nccl-rdma-installer "
            "(container-engine-accelerators, gpudirect-rdma)",
            "use another cluster, or install both yourself and write muster:gpudirect: {install: none}",
        )


def _unread(key: str, operator: Model, read: set[str], why: str, remedy: str) -> Iterator[Finding]:
    """Yields a finding for each key in the file that is neither `install` nor one of `read`."""
    for name, field in type(operator).model_fields.items():
        if name in operator.model_fields_set - read - {"install"}:
            yield Finding(
                (key, str(field.alias)), f"no value: {why}", f"remove `{field.alias}`, or write {remedy}"
            )
