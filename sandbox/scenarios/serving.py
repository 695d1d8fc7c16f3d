"""A scenario in which inference preempts training, which resumes later, like NVIDIA's example for KAI.

Source: "NVIDIA KAI Scheduler Enables Gang Scheduling and Workload Prioritization in Ray with KubeRay".
KubeRay's status and pods look the same with every engine. Evidence of gang admission and preemption is in
Workloads with engines that use Kueue's API, and in PodGroups with KAI.
"""

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.scenarios.gangs import admitted_whole, gang_size, gpu_workers, not_ended, on_nodes, running_gang
from sandbox.scenarios.milestones import Check, JobsByRole, Milestone, Scenario, is_suspended
from sandbox.scenarios.observations import ObservedObjects, labels

WATCHED = (kinds.Node, kinds.RayCluster, kinds.RayService, kinds.Pod)
KAI_QUEUE_LABEL = "kai.scheduler/queue"
SERVES = "inference serves"


def training_runs(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the whole gang runs, with GPU workers on GPU nodes."""
    gang = running_gang(observed, jobs["training"])
    workers = gpu_workers(observed, gang)
    return f"all {len(gang)} pods running, {len(workers)} on GPU nodes" if workers else ""


def training_is_suspended(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the Workload is preempted, that KubeRay has suspended the cluster, and that its pods
    have ended."""
    training = jobs["training"]
    evicted = condition(observed.workload(training), "Evicted")
    if evicted.get("status") != "True" or evicted.get("reason") != "Preempted":
        return ""
    if not is_true(observed.job(training), "RayClusterSuspended") or not_ended(observed.pods(training)):
        return ""
    return "Workload Evicted (Preempted), RayCluster suspended, its pods have ended"


def training_waits_as_pods(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that all pods of the gang are pending, as its cluster is not suspended."""
    training = jobs["training"]
    group, gang = observed.pod_group(training), observed.gang(training)
    if not observed.job(jobs["inference"]) or not group or not gang or on_nodes(gang):
        return ""
    return (
        f"no pod on a node, {len(gang)} of {gang_size(observed.job(training))} wait in queue {_queue(group)}"
    )


def inference_is_admitted_whole(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the service's Workload is Admitted and that its whole gang runs."""
    return admitted_whole(observed, jobs["inference"])


def inference_is_bound_whole(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that all pods of the service's PodGroup run, and no pods of the training."""
    inference = jobs["inference"]
    group, gang = observed.pod_group(inference), running_gang(observed, inference)
    if not group or not gang or on_nodes(observed.gang(jobs["training"])):
        return ""
    pods_min = group["spec"].get("minMember")
    if pods_min != len(gang) or not gpu_workers(observed, gang):
        return ""
    return f"PodGroup of {pods_min} in queue {_queue(group)}, all {len(gang)} pods running"


def inference_serves(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the RayService is Ready and that Ray Serve runs all applications."""
    service = observed.job(jobs["inference"])
    status = service.get("status") or {}
    applications = (status.get("activeServiceStatus") or {}).get("applicationStatuses") or {}
    running = [name for name, state in applications.items() if state.get("status") == "RUNNING"]
    endpoints = status.get("numServeEndpoints", 0)
    if not service or not is_true(service, "Ready") or not endpoints or not running:
        return ""
    if len(running) < len(applications):
        return ""
    return f"RayService Ready, {', '.join(sorted(running))} RUNNING behind {endpoints} endpoints"


def training_runs_again(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the service and its pods are deleted, and that the whole training runs."""
    if observed.job(jobs["inference"]) or not_ended(observed.pods(jobs["inference"])):
        return ""
    return training_runs(observed, jobs)


def has_kai_queue(job: Object) -> bool:
    """Returns whether the job has KAI's queue label, which the stack's admission policy adds with engine
    kai."""
    return KAI_QUEUE_LABEL in labels(job)


def _queue(group: Object) -> str:
    return str(group["spec"].get("queue", ""))


def serving(engine: str) -> Scenario:
    """Returns the scenario for this admission engine."""
    kai = engine == "kai"
    evicted: Check = training_waits_as_pods if kai else training_is_suspended
    whole: Check = inference_is_bound_whole if kai else inference_is_admitted_whole
    return Scenario(
        name="serving",
        summary="training on all GPUs, then an inference service of higher priority",
        kinds=(
            *WATCHED,
            *((kinds.PodGroup,) if kai else (kinds.Workload, kinds.ClusterQueue, kinds.ProvisioningRequest)),
        ),
        policies_active=has_kai_queue if kai else is_suspended,
        examples={"training": "train.raycluster.yaml", "inference": "vllm-inference.rayservice.yaml"},
        milestones=(
            Milestone("training holds the GPUs", training_runs, submit="inference"),
            Milestone("training is evicted whole", evicted),
            Milestone("inference gang runs whole", whole),
            Milestone(SERVES, inference_serves, remove="inference"),
            Milestone("training runs again", training_runs_again, after=SERVES),
        ),
    )
