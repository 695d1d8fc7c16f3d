"""Training gives way to inference and runs again when it leaves: the scenario of NVIDIA's example for KAI.

Source: "NVIDIA KAI Scheduler Enables Gang Scheduling and Workload Prioritization in Ray with KubeRay".
What KubeRay and the pods show is the same with every engine; that nothing started in part, and who sent
the training away, an engine that reads Kueue's API says in Workloads, and KAI in PodGroups.
"""

from __future__ import annotations

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.scenarios.gangs import admitted_whole, gang_size, gpu_workers, on_nodes, running_gang
from sandbox.scenarios.milestones import Cast, Chapter, Look, Scenario, is_suspended
from sandbox.scenarios.observations import World, labels

WATCHED = (kinds.Node, kinds.RayCluster, kinds.RayService, kinds.Pod)
KAI_QUEUE_LABEL = "kai.scheduler/queue"
SERVES = "inference serves"


def training_runs(world: World, cast: Cast) -> str:
    """All of the gang runs, its GPU workers on nodes with GPUs."""
    gang = running_gang(world, cast["training"])
    workers = gpu_workers(world, gang)
    return f"all {len(gang)} pods running, {len(workers)} on GPU nodes" if workers else ""


def training_is_suspended(world: World, cast: Cast) -> str:
    """The Workload is evicted by preemption, KubeRay has suspended the cluster, and no pod is left."""
    training = cast["training"]
    evicted = condition(world.workload(training), "Evicted")
    if evicted.get("status") != "True" or evicted.get("reason") != "Preempted":
        return ""
    if not is_true(world.job(training), "RayClusterSuspended") or world.pods(training):
        return ""
    return "Workload Evicted (Preempted), RayCluster suspended, no pods left"


def training_waits_as_pods(world: World, cast: Cast) -> str:
    """The gang is off its nodes, all of it, though its cluster is not suspended: it waits as pods."""
    training = cast["training"]
    group, gang = world.pod_group(training), world.gang(training)
    if not world.job(cast["inference"]) or not group or not gang or on_nodes(gang):
        return ""
    return f"no pod on a node, {len(gang)} of {gang_size(world.job(training))} wait in queue {_queue(group)}"


def inference_is_admitted_whole(world: World, cast: Cast) -> str:
    """The service's Workload is Admitted and all of its gang runs."""
    return admitted_whole(world, cast["inference"])


def inference_is_bound_whole(world: World, cast: Cast) -> str:
    """All of the gang that its PodGroup asks for at once runs, and nothing of the training beside it."""
    inference = cast["inference"]
    group, gang = world.pod_group(inference), running_gang(world, inference)
    if not group or not gang or on_nodes(world.gang(cast["training"])):
        return ""
    wanted = group["spec"].get("minMember")
    if wanted != len(gang) or not gpu_workers(world, gang):
        return ""
    return f"PodGroup of {wanted} in queue {_queue(group)}, all {len(gang)} pods running"


def inference_serves(world: World, cast: Cast) -> str:
    """KubeRay says Ready, Ray Serve says that every application runs."""
    service = world.job(cast["inference"])
    status = service.get("status") or {}
    applications = (status.get("activeServiceStatus") or {}).get("applicationStatuses") or {}
    running = [name for name, told in applications.items() if told.get("status") == "RUNNING"]
    endpoints = status.get("numServeEndpoints", 0)
    if not service or not is_true(service, "Ready") or not endpoints or not running:
        return ""
    if len(running) < len(applications):
        return ""
    return f"RayService Ready, {', '.join(sorted(running))} RUNNING behind {endpoints} endpoints"


def training_runs_again(world: World, cast: Cast) -> str:
    """The service and its pods are gone, and all of the training runs."""
    if world.job(cast["inference"]) or world.pods(cast["inference"]):
        return ""
    return training_runs(world, cast)


def has_kai_queue(job: Object) -> bool:
    """What the stack's admission policy does to a queued job where KAI is the engine."""
    return KAI_QUEUE_LABEL in labels(job)


def _queue(group: Object) -> str:
    return str(group["spec"].get("queue", ""))


def serving(engine: str) -> Scenario:
    """The scenario as this admission engine has to show it."""
    kai = engine == "kai"
    evicted: Look = training_waits_as_pods if kai else training_is_suspended
    whole: Look = inference_is_bound_whole if kai else inference_is_admitted_whole
    return Scenario(
        name="serving",
        says="training on all GPUs, then an inference service that comes first",
        kinds=(*WATCHED, *((kinds.PodGroup,) if kai else (kinds.Workload, kinds.ProvisioningRequest))),
        taken_up=has_kai_queue if kai else is_suspended,
        examples={"training": "train.raycluster.yaml", "inference": "vllm-inference.rayservice.yaml"},
        chapters=(
            Chapter("training holds the GPUs", training_runs, submit="inference"),
            Chapter("training is evicted whole", evicted),
            Chapter("inference gang runs whole", whole),
            Chapter(SERVES, inference_serves, remove="inference"),
            Chapter("training runs again", training_runs_again, after=SERVES),
        ),
    )
