"""Rules of what is installed in the cluster: what goes together, and what would do nothing."""

from collections.abc import Iterator

from settings.model.base import Model
from settings.model.foundation.cluster import Existing
from settings.model.stack import Settings
from settings.problems import Finding

# The admission policies suspend these; with engine `kueue` nobody else would start them again.
SUSPENDED_FRAMEWORKS = ("ray.io/rayjob", "ray.io/raycluster")


def engine_muster_has_its_controller(settings: Settings) -> Iterator[Finding]:
    if settings.admission.engine == "muster" and settings.controller is None:
        yield Finding(
            ("muster:controller",),
            "the controller that engine muster needs",
            "add `muster:controller: {build: {}}` (or {image: …}), or choose engine: kueue",
        )


def kuberay_suits_the_stack(settings: Settings) -> Iterator[Finding]:
    kuberay, path = settings.kuberay, ("muster:kuberay",)
    if kuberay.install == "addon" and isinstance(settings.cluster, Existing):
        yield Finding(
            (*path, "install"),
            "helm or existing: the add-on is switched on where a GKE cluster is made",
            "write helm",
        )
    elif kuberay.install == "addon" and settings.admission.engine == "kai":
        yield Finding(
            (*path, "install"),
            "helm or existing: only a KubeRay started with --batch-scheduler=kai-scheduler hands its pods to "
            "KAI, and GKE's Ray add-on can't be told to",
            "write helm, or choose another engine",
        )
    unseen = [tenant.namespace for tenant in settings.tenants]
    unseen = [name for name in unseen if name not in kuberay.watch_namespaces]
    if kuberay.watch_namespaces and unseen:
        yield Finding(
            (*path, "watchNamespaces"),
            f"every tenant's namespace: KubeRay would not see the jobs of {', '.join(unseen)}",
            f"add {', '.join(unseen)}, or remove `watchNamespaces` to watch all",
        )


def kueue_starts_what_is_suspended(settings: Settings) -> Iterator[Finding]:
    missing = [name for name in SUSPENDED_FRAMEWORKS if name not in settings.kueue.frameworks]
    if settings.admission.engine == "kueue" and missing:
        yield Finding(
            ("muster:kueue", "frameworks"),
            f"{' and '.join(SUSPENDED_FRAMEWORKS)}: queued ones are suspended at creation, and only Kueue "
            "would start them",
            f"add {', '.join(missing)}",
        )


def operators_run_on_a_system_pool(settings: Settings) -> Iterator[Finding]:
    """Not beside GPUs, where they would keep paid nodes from scaling down, nor where a spot node's end
    would stop all admission. A stack whose pools are all queued is told so already."""
    if settings.system_pool is None and any(not pool.queued for pool in settings.pools):
        yield Finding(
            ("muster:pools",),
            "a pool on demand, without accelerators, for KubeRay and the other operators",
            "add one, such as {name: system, machineType: e2-standard-4, nodes: {min: 1, max: 3}}",
        )


def fair_shares_are_weighed(settings: Settings) -> Iterator[Finding]:
    """Weights are read only with fairSharing (Kueue: apis/config/v1beta2); how a Kueue that is there already
    is configured, we can't see."""
    engine, kueue, controller = settings.admission.engine, settings.kueue, settings.controller
    weighed = {
        "kueue": kueue.install == "existing" or kueue.fair_sharing is not None,
        "muster": controller is not None and controller.fair_sharing is not None,
    }
    if weighed.get(engine, True):
        return
    part, who = ("muster:kueue", "Kueue") if engine == "kueue" else ("muster:controller", "Muster")
    weights = {
        "clusterQueues": [queue.weight for queue in settings.queues.cluster_queues],
        "cohorts": [cohort.weight for cohort in settings.queues.cohorts],
    }
    for key in weights:
        for i, weight in enumerate(weights[key]):
            if weight is not None:
                yield Finding(
                    ("muster:queues", key, i, "weight"),
                    f"no weight: {who} weighs no shares unless told to",
                    f"remove it, or add `{part}: {{fairSharing: {{}}}}`",
                )


def nothing_is_configured_in_vain(settings: Settings) -> Iterator[Finding]:
    """A key that nobody reads would be a promise."""
    engine = settings.admission.engine
    kuberay, kueue, kai, gpus = settings.kuberay, settings.kueue, settings.kai, settings.gpu_operator
    if kuberay.install != "helm":
        why = f"with install: {kuberay.install} it is not this stack's to choose"
        yield from _unread("muster:kuberay", kuberay, {"addon"}, why, "install: helm")
    if kuberay.install != "addon":
        why = f"with install: {kuberay.install} there is no add-on"
        read = set(type(kuberay).model_fields) - {"addon"}
        yield from _unread("muster:kuberay", kuberay, read, why, "install: addon")
    if kueue.install == "existing":
        yield from _unread("muster:kueue", kueue, set(), "Kueue is there already", "install: upstream")
    elif engine == "muster":
        why = "engine muster installs Kueue's API alone"
        yield from _unread("muster:kueue", kueue, {"version"}, why, "engine: kueue")
    elif engine == "kai":
        why = "engine kai installs nothing of Kueue's"
        yield from _unread("muster:kueue", kueue, set(), why, "engine: kueue")
    if kai.install == "existing":
        yield from _unread("muster:kai", kai, set(), "KAI Scheduler is there already", "install: helm")
    elif engine != "kai":
        yield from _unread(
            "muster:kai", kai, set(), f"engine {engine} installs no KAI Scheduler", "engine: kai"
        )
    if gpus.install != "helm":
        why = f"install: {gpus.install} installs nothing"
        yield from _unread("muster:gpuOperator", gpus, set(), why, "install: helm")


def _unread(key: str, operator: Model, read: set[str], why: str, remedy: str) -> Iterator[Finding]:
    """One finding for each key in the file beside `install` and those that are `read`."""
    for name, field in type(operator).model_fields.items():
        if name in operator.model_fields_set - read - {"install"}:
            yield Finding(
                (key, str(field.alias)), f"nothing: {why}", f"remove `{field.alias}`, or write {remedy}"
            )


def gpus_have_one_keeper(settings: Settings) -> Iterator[Finding]:
    """GKE manages driver and device plugin, or leaves both to the operator (NVIDIA, "NVIDIA GPU Operator
    with Google GKE")."""
    install = settings.gpu_operator.install
    existing = isinstance(settings.cluster, Existing)
    if install == "helm" and existing:
        yield Finding(
            ("muster:gpuOperator", "install"),
            "none or existing: its paths and its driver's installer are those of GKE's nodes",
            "install it yourself, and write existing",
        )
        return
    for i, pool in enumerate(settings.pools):
        path = ("muster:pools", i, "gpu", "driver")
        if pool.gpu and install == "helm" and pool.gpu.driver != "disabled":
            yield Finding(
                path,
                "disabled: the GPU Operator is installed, and what GKE installs would be in its way (NVIDIA, "
                '"NVIDIA GPU Operator with Google GKE")',
                "write driver: disabled, or remove `muster:gpuOperator`",
            )
        if pool.gpu and install == "none" and pool.gpu.driver == "disabled" and not existing:
            yield Finding(
                path,
                "default or latest: nothing else installs a driver, and the nodes' GPUs stay unseen",
                "write latest, or add `muster:gpuOperator: {install: helm}`",
            )
