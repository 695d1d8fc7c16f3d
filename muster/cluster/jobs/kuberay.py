"""Finds the faults for which KubeRay rejects a Ray object, before the gang gets quota.

KubeRay only logs them, or leaves the job in ValidationFailed permanently.
Source: KubeRay ray-operator/controllers/ray/utils/validation.go at v1.6.2 and v1.7.0, with the default
feature gates; where the versions differ, a fault of one of them.
Omitted are rules about fields that make a job ineligible anyway (autoscaling, clusterSelector, upgrade
strategies other than None), missing minReplicas and maxReplicas (the CRDs have defaults), and invalid YAML in
runtimeEnvYAML, which KubeRay reports for suspended RayJobs too.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from muster.cluster.jobs.in_place_resize import resize_faults
from muster.objects.cache import ByteCache
from muster.objects.meta import ObjectMeta, View
from muster.objects.ray import RESOURCE_PARAMETERS, RayClusterSpec, RayGroup, RayJobSpec, RayServiceSpec

CLUSTER_NAME_MAX = 53
OWNER_NAME_MAX = 47  # KubeRay appends a suffix for the RayCluster
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LABEL_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_PART_MAX, LABEL_PREFIX_MAX = 63, 253
FT_ENABLED, FT_NAMESPACE = "ray.io/ft-enabled", "ray.io/external-storage-namespace"
INITIALIZING_TIMEOUT = "ray.io/initializing-timeout"
DURATION = re.compile(
    r"\+?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*"
)
METADATA_VERSION, TOKEN_VERSION, K8S_TOKEN_VERSION = (2, 6, 0), (2, 52, 0), (2, 55, 0)


class _EnvVar(View):
    name: str = ""
    value: str = ""


class _Container(View):
    env: tuple[_EnvVar, ...] = ()


class _PodSpec(View):
    containers: tuple[_Container, ...] = ()
    restart_policy: str = ""


class _Template(View):
    spec: _PodSpec = _PodSpec()


def _read(json: bytes) -> _Template:
    return msgspec.json.decode(json, type=_Template)


_template = ByteCache(_read)


def job_fault(meta: ObjectMeta, spec: RayJobSpec) -> str | None:
    """Returns a sentence that names the first faulty field; None if KubeRay accepts the RayJob."""
    return next(_job_faults(meta, spec), None)


def cluster_fault(meta: ObjectMeta, spec: RayClusterSpec) -> str | None:
    """Like `job_fault`, for a RayCluster created by a user."""
    return next(_ray_cluster_faults(meta, spec), None)


def service_fault(meta: ObjectMeta, spec: RayServiceSpec) -> str | None:
    """Like `job_fault`, for a RayService."""
    return next(_service_faults(meta, spec), None)


def is_fault_tolerant(spec: RayClusterSpec, annotations: Mapping[str, str]) -> bool:
    """Returns whether Ray's GCS keeps its state in Redis (utils.IsGCSFaultToleranceEnabled). KubeRay copies
    the annotations of RayJobs and RayServices to their RayClusters."""
    annotated = annotations.get(FT_ENABLED, "").lower() == "true"
    return annotated or spec.gcs_fault_tolerance_options is not None


def _job_faults(meta: ObjectMeta, spec: RayJobSpec) -> Iterator[str]:
    yield from _name_faults(meta.name, OWNER_NAME_MAX)
    cluster, interactive = spec.ray_cluster_spec, spec.submission_mode == "InteractiveMode"
    if cluster is None:
        yield "spec.rayClusterSpec is missing"
        return
    yield from _below("spec.ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0)
    yield from _deletion_faults(spec)
    if interactive and (spec.backoff_limit or 0) > 0:
        yield "spec.backoffLimit can't be combined with submissionMode InteractiveMode: remove one of them"
    if spec.submission_mode == "SidecarMode":
        if spec.has_submitter_template or spec.submitter_config is not None:
            yield "submissionMode SidecarMode takes no submitterPodTemplate or submitterConfig: remove them"
        if _template(bytes(cluster.head_group_spec.template)).spec.restart_policy not in ("", "Never"):
            yield "submissionMode SidecarMode needs restartPolicy Never in the head's template"
    if cluster.auth_options.get("enableK8sTokenAuth"):
        yield "spec.rayClusterSpec.authOptions.enableK8sTokenAuth is for RayClusters only: remove it"
    yield from _submitter_faults(spec, cluster)
    yield from _cluster_faults("spec.rayClusterSpec", cluster, meta.annotations)
    yield from _below("spec.activeDeadlineSeconds", spec.active_deadline_seconds, 1)
    yield from _below("spec.preRunningDeadlineSeconds", spec.pre_running_deadline_seconds, 1)
    yield from _below("spec.backoffLimit", spec.backoff_limit, 0)


def _submitter_faults(spec: RayJobSpec, cluster: RayClusterSpec) -> Iterator[str]:
    """Yields faults that prevent KubeRay from creating the submission command or Job, which it retries
    forever (createK8sJobIfNeed, common/job.go: GetMetadataJson; Kubernetes' validation of Jobs)."""
    by_command = spec.submission_mode in ("K8sJobMode", "SidecarMode")
    if by_command and spec.metadata and version_numbers(cluster.ray_version) < METADATA_VERSION:
        needed = ".".join(map(str, METADATA_VERSION))
        yield (
            f"spec.metadata needs Ray {needed} or later, but spec.rayClusterSpec.rayVersion is "
            f"{cluster.ray_version!r}: set it"
        )
    if spec.submission_mode != "K8sJobMode":
        return
    policy = _template(bytes(spec.submitter_pod_template)).spec.restart_policy
    if spec.has_submitter_template and policy not in ("Never", "OnFailure"):
        yield f"spec.submitterPodTemplate.spec.restartPolicy is {policy!r}; expected Never or OnFailure"
    limit = (spec.submitter_config or {}).get("backoffLimit")
    yield from _below("spec.submitterConfig.backoffLimit", limit, 0)


def _deletion_faults(spec: RayJobSpec) -> Iterator[str]:
    """Checks the legacy fields; deletionRules are ineligible already."""
    strategy = spec.deletion_strategy
    if strategy is None or strategy.get("deletionRules"):
        return
    policies = [(strategy.get(field) or {}).get("policy") for field in ("onSuccess", "onFailure")]
    if None in policies:
        yield "spec.deletionStrategy needs a policy both in onSuccess and in onFailure"
    elif "DeleteNone" in policies:
        yield "spec.deletionStrategy: DeleteNone contradicts shutdownAfterJobFinishes: use DeleteCluster"


def _ray_cluster_faults(meta: ObjectMeta, spec: RayClusterSpec) -> Iterator[str]:
    yield from _name_faults(meta.name, CLUSTER_NAME_MAX)
    yield from _cluster_faults("spec", spec, meta.annotations)
    strategy = spec.upgrade_strategy.type
    if strategy not in ("", "Recreate", "None"):
        yield f"spec.upgradeStrategy.type is {strategy!r}; expected Recreate or None"


def _service_faults(meta: ObjectMeta, spec: RayServiceSpec) -> Iterator[str]:
    yield from _name_faults(meta.name, OWNER_NAME_MAX)
    timeout = meta.annotations.get(INITIALIZING_TIMEOUT, "")
    if timeout and not _is_positive_time(timeout):
        yield f"annotation {INITIALIZING_TIMEOUT} is {timeout!r}; expected seconds, or a duration such as 5m"
    cluster = spec.ray_cluster_config
    if cluster.auth_options.get("enableK8sTokenAuth"):
        yield "spec.rayClusterConfig.authOptions.enableK8sTokenAuth is for RayClusters only: remove it"
    yield from _cluster_faults("spec.rayClusterConfig", cluster, meta.annotations)
    service = cluster.head_group_spec.head_service or {}
    if (service.get("metadata") or {}).get("name"):
        yield "the name in spec.rayClusterConfig.headGroupSpec.headService is set by KubeRay: remove it"
    yield from _below("spec.rayClusterDeletionDelaySeconds", spec.ray_cluster_deletion_delay_seconds, 0)


def _cluster_faults(where: str, spec: RayClusterSpec, annotations: Mapping[str, str]) -> Iterator[str]:
    yield from _group_faults(f"{where}.headGroupSpec", spec.head_group_spec)
    for group in spec.worker_group_specs:
        at = f"worker group {group.group_name!r}"
        yield from _below(f"{at}: minReplicas", group.min_replicas, 0)
        yield from _below(f"{at}: maxReplicas", group.max_replicas, 0)
        if group.max_replicas is not None and (group.min_replicas or 0) > group.max_replicas:
            yield f"{at}: minReplicas {group.min_replicas} is more than maxReplicas {group.max_replicas}"
        yield from _group_faults(at, group)
        if group.idle_timeout_seconds is not None:
            yield f"{at}: idleTimeoutSeconds needs the autoscaler, which a gang can't have: remove it"
        if group.priority:
            yield f"{at}: priority needs the autoscaler, which a gang can't have: remove it"
    yield from resize_faults(spec, annotations)
    yield from _environment_faults(where, spec, annotations)
    yield from _gated_faults(where, spec)
    yield from _token_faults(f"{where}.authOptions", spec)


def _gated_faults(where: str, spec: RayClusterSpec) -> Iterator[str]:
    """Yields the fields whose feature gates are off by default."""
    gated = {
        "historyServerOptions": spec.history_server_options,
        "networkPolicy": spec.network_policy,
        "tlsOptions": spec.tls_options,
    }
    for name, options in gated.items():
        if options is not None:
            yield f"{where}.{name} needs a feature gate of KubeRay that is off by default: remove it"
    gcs = spec.gcs_fault_tolerance_options or {}
    if gcs.get("backend", "redis") != "redis" or gcs.get("storage") is not None:
        yield f"{where}.gcsFaultToleranceOptions: a gang uses the backend redis: remove backend and storage"


def _group_faults(where: str, group: RayGroup) -> Iterator[str]:
    if group.resources and any(group.ray_start_params.get(name) for name in RESOURCE_PARAMETERS):
        yield f"{where}: resources are set both in rayStartParams and in resources: set them in only one"
    if "labels" in group.ray_start_params:
        yield f"{where}: rayStartParams has labels: set them in the group's field labels instead"
    for key, value in group.labels.items():
        if not _is_label(key, value):
            yield f"{where}: {key}={value} is not a valid Kubernetes label"


def _environment_faults(where: str, spec: RayClusterSpec, annotations: Mapping[str, str]) -> Iterator[str]:
    """Checks that GCS fault tolerance is configured in one place only, and that the autoscaler is not
    enabled."""
    containers = _template(bytes(spec.head_group_spec.template)).spec.containers
    env = {v.name: v.value for v in containers[0].env} if containers else {}
    options, parameters = f"{where}.gcsFaultToleranceOptions", spec.head_group_spec.ray_start_params
    has_options = spec.gcs_fault_tolerance_options is not None
    if has_options and annotations.get(FT_ENABLED):
        yield f"annotation {FT_ENABLED} can't be combined with {options}: remove the annotation"
    tolerant = is_fault_tolerant(spec, annotations)
    if "RAY_REDIS_ADDRESS" in env and (has_options or not tolerant):
        yield f"the head's RAY_REDIS_ADDRESS belongs in {options}.redisAddress"
    if has_options and (parameters.get("redis-password") or "REDIS_PASSWORD" in env):
        yield f"the head's Redis password belongs in {options}.redisPassword"
    if has_options and annotations.get(FT_NAMESPACE):
        yield f"annotation {FT_NAMESPACE} belongs in {options}.externalStorageNamespace"
    if parameters.get("redis-username") or "REDIS_USERNAME" in env:
        yield f"the head's Redis username belongs in {options}.redisUsername"
    if env.get("RAY_enable_autoscaler_v2") in ("1", "true"):
        yield "the head's RAY_enable_autoscaler_v2 needs the autoscaler, which a gang can't have: remove it"


def _token_faults(where: str, spec: RayClusterSpec) -> Iterator[str]:
    options = spec.auth_options
    by_kubernetes = bool(options.get("enableK8sTokenAuth"))
    if options.get("mode") != "token":
        if by_kubernetes:
            yield f"{where}.enableK8sTokenAuth needs {where}.mode token"
        return
    version_min = K8S_TOKEN_VERSION if by_kubernetes else TOKEN_VERSION
    if version_numbers(spec.ray_version) < version_min:
        needed = ".".join(map(str, version_min))
        yield f"{where} needs Ray {needed} or later, but rayVersion is {spec.ray_version!r}: set it"
    if by_kubernetes and options.get("secretName"):
        yield f"{where} has both enableK8sTokenAuth and secretName: remove one of them"


def version_numbers(text: str) -> tuple[int, ...]:
    """Returns the numeric parts of the version; empty if the text is not a version."""
    match = re.match(r"v?(\d+(?:\.\d+)+)", text)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def _name_faults(name: str, length_max: int) -> Iterator[str]:
    if len(name) > length_max or not DNS_1035.fullmatch(name):
        yield (
            f"metadata.name {name!r} is not valid for KubeRay; expected at most {length_max} "
            "lowercase letters, digits and '-', beginning with a letter and not ending with '-'"
        )


def _below(where: str, value: int | None, minimum: int) -> Iterator[str]:
    if value is not None and value < minimum:
        yield f"{where} is {value}; expected at least {minimum}"


def _is_label(key: str, value: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    prefix_fits = not slash or (len(prefix) <= LABEL_PREFIX_MAX and DNS_1123.fullmatch(prefix) is not None)
    parts = [name, *([value] if value else [])]
    return prefix_fits and all(len(p) <= LABEL_PART_MAX and LABEL_PART.fullmatch(p) for p in parts)


def _is_positive_time(text: str) -> bool:
    """Returns whether the text is a positive duration in Go's format, or whole seconds."""
    whole = re.fullmatch(r"\+?\d+", text)
    return bool(whole or DURATION.fullmatch(text)) and re.search(r"[1-9]", text) is not None
