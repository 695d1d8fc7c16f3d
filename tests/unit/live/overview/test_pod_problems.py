"""Sentences about pods that do not run, from statuses as kubelets, schedulers and controllers write them."""

from dataclasses import dataclass, field

import pytest

from muster.cluster.jobs.job import StatusReason
from muster.live.gang_pods import GangPods
from muster.live.overview.document import document
from muster.live.overview.pod_problems import PodProblem, pod_problems
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.pods import (
    IMAGE,
    READY,
    ago,
    condition,
    container,
    detailed,
    ended,
    pod,
    runs,
    waits,
)

NOT_FOUND = (
    f'rpc error: code = NotFound desc = failed to pull and unpack image "{IMAGE}": failed to resolve '
    "reference "
    f'"{IMAGE}": {IMAGE}: not found'
)
BACK_OFF = f'Back-off pulling image "{IMAGE}"'
RESTARTING = "back-off 2m40s restarting failed container=ray-worker pod=w-1_team-a(0d5f)"
NO_NODE = (
    "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). no new claims to "
    "deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)
LOW = (
    "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 512Mi. Container "
    "ray-worker was using 20Gi, request is 0, has larger consumption of ephemeral-storage. "
)
NO_COMMAND = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create "
    "failed: "
    'unable to start container process: error during container init: exec: "rya": executable file not '
    "found in "
    "$PATH: unknown\nsecond line"
)
OOM = ended(137, "OOMKilled")
GATED = condition(
    "PodScheduled", False, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"
)
UNSCHEDULABLE = condition("PodScheduled", False, "Unschedulable", NO_NODE)
TAINTED = condition(
    "DisruptionTarget", True, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
)


@dataclass(frozen=True)
class Case:
    """`pods` are workers of group gpu; `sentences` are all sentences about them."""

    pods: tuple[Body, ...]
    sentences: tuple[str, ...] = ()
    gang: GangPods = field(default_factory=GangPods)


def one(*containers: Body, **details: object) -> tuple[Body, ...]:
    return (pod("w-1", *containers, **details),)  # type: ignore[arg-type]


def starting(*states: Body) -> tuple[Body, ...]:
    """Pods w-1, w-2 and so on, whose container has these states."""
    return tuple(pod(f"w-{n}", container(state), phase="Pending") for n, state in enumerate(states, start=1))


W1 = "pod w-1 of pod set gpu"
CASES = {
    "all containers are ready": Case(one(READY)),
    "an image does not exist": Case(
        starting(waits("ErrImagePull", NOT_FOUND)),
        (f"Image {IMAGE} cannot be pulled (ErrImagePull) for {W1}: {IMAGE}: not found.",),
    ),
    "a backoff repeats the error": Case(
        starting(waits("ImagePullBackOff", f"{BACK_OFF}: ErrImagePull: {NOT_FOUND}")),
        (f"Image {IMAGE} cannot be pulled (ImagePullBackOff) for {W1}: {IMAGE}: not found.",),
    ),
    "a backoff of an old kubelet has no error": Case(
        starting(waits("ImagePullBackOff", BACK_OFF)),
        (f"Image {IMAGE} cannot be pulled (ImagePullBackOff) for {W1}.",),
    ),
    "pods with the same image, of which one has the error": Case(
        starting(
            waits("ImagePullBackOff", BACK_OFF),
            waits("ErrImagePull", NOT_FOUND),
            *[waits("ImagePullBackOff", BACK_OFF)] * 3,
        ),
        (
            f"Image {IMAGE} cannot be pulled (ImagePullBackOff) for 5 pods of pod set gpu "
            f"(w-1, w-2, w-3 and 2 more): {IMAGE}: not found.",
        ),
    ),
    "two images": Case(
        (
            pod("w-1", container(waits("ErrImagePull", "a"), image="a:1")),
            pod("w-2", container(waits("ErrImagePull", "b"), image="b:1")),
        ),
        (
            f"Image a:1 cannot be pulled (ErrImagePull) for {W1}: a.",
            "Image b:1 cannot be pulled (ErrImagePull) for pod w-2 of pod set gpu: b.",
        ),
    ),
    "an invalid image name": Case(
        one(
            container(
                waits(
                    "InvalidImageName", 'Failed to apply default image tag "A B": couldn\'t parse image name'
                ),
                image="A B",
            )
        ),
        (
            f"Image name A B is invalid (InvalidImageName) in {W1}: Failed to apply default image tag "
            '"A B": couldn\'t parse image name.',
        ),
    ),
    "an image that is never pulled": Case(
        starting(
            waits("ErrImageNeverPull", f'Container image "{IMAGE}" is not present with pull policy of Never')
        ),
        (
            f'Image {IMAGE} cannot be pulled (ErrImageNeverPull) for {W1}: Container image "{IMAGE}" is not '
            "present with pull policy of Never.",
        ),
    ),
    "a secret is missing": Case(
        starting(waits("CreateContainerConfigError", 'secret "tokens" not found')),
        (
            f"Container ray-worker of {W1} cannot be created (CreateContainerConfigError): "
            'secret "tokens" not found.',
        ),
    ),
    "a crash loop; the output stays out": Case(
        one(container(waits("CrashLoopBackOff", RESTARTING), ended(1, message="hf_secret"), restartCount=7)),
        (
            f"Container ray-worker of {W1} is in a crash loop (CrashLoopBackOff): it last exited with code 1 "
            f"(Error) at {ago(60)}; restarts: 7.",
        ),
    ),
    "a crash loop without an end": Case(
        one(container(waits("CrashLoopBackOff", RESTARTING), restartCount=1)),
        (f"Container ray-worker of {W1} is in a crash loop (CrashLoopBackOff); restarts: 1.",),
    ),
    "a command that does not exist": Case(
        one(container(waits("CrashLoopBackOff"), ended(128, "StartError", NO_COMMAND), restartCount=2)),
        (
            f"Container ray-worker of {W1} is in a crash loop (CrashLoopBackOff): it last exited with code "
            "128 "
            f'(StartError) at {ago(60)}: exec: "rya": executable file not found in $PATH: unknown; '
            "restarts: 2.",
        ),
    ),
    "out of memory, in a crash loop": Case(
        one(container(waits("CrashLoopBackOff", RESTARTING), OOM, restartCount=3)),
        (
            f"Container ray-worker of {W1} is in a crash loop (CrashLoopBackOff): it last was OOM-killed "
            f"(memory limit 2Gi) at {ago(60)}; restarts: 3.",
        ),
    ),
    "out of memory, and running again": Case(
        one(container(runs(), OOM, ready=True, restartCount=1)),
        (f"Container ray-worker of {W1} was OOM-killed (memory limit 2Gi) at {ago(60)}; restarts: 1.",),
    ),
    "out of memory just now": Case(
        one(container(OOM)),
        (f"Container ray-worker of {W1} was OOM-killed (memory limit 2Gi) at {ago(60)}.",),
    ),
    "out of memory without a limit": Case(
        one(container(OOM), spec={"containers": [{"name": "ray-worker"}]}),
        (f"Container ray-worker of {W1} was OOM-killed (no memory limit) at {ago(60)}.",),
    ),
    "out of memory at the limit of the pod": Case(
        one(container(OOM), spec={"containers": [], "resources": {"limits": {"memory": "5Gi"}}}),
        (f"Container ray-worker of {W1} was OOM-killed (memory limit 5Gi) at {ago(60)}.",),
    ),
    "several pods out of memory": Case(
        (
            pod("w-1", container(runs(), ended(137, "OOMKilled", ago_s=90), ready=True, restartCount=1)),
            pod("w-2", container(runs(), ended(137, "OOMKilled", ago_s=30), ready=True, restartCount=4)),
        ),
        (
            "Container ray-worker of 2 pods of pod set gpu (w-1, w-2) was OOM-killed (memory limit 2Gi) at "
            f"{ago(30)}; restarts: 4.",
        ),
    ),
    "killed, and not ready again": Case(
        one(container(runs(), ended(137), restartCount=2)),
        (f"Container ray-worker of {W1} exited with code 137 (Error, SIGKILL) at {ago(60)}; restarts: 2.",),
    ),
    "restarted, and ready again": Case(one(container(runs(), ended(1), ready=True, restartCount=2))),
    "completed": Case(one(container(ended(0, "Completed")), phase="Succeeded")),
    "an init container fails": Case(
        one(
            container(waits("PodInitializing")),
            init=(container(waits("CrashLoopBackOff"), ended(2), name="download", restartCount=4),),
            phase="Pending",
        ),
        (
            f"Init container download of {W1} is in a crash loop (CrashLoopBackOff): it last exited with "
            "code 2 "
            f"(Error) at {ago(60)}; restarts: 4.",
        ),
    ),
    "an init container ended the pod": Case(
        one(
            container(waits("PodInitializing")),
            init=(container(ended(2), name="download"),),
            phase="Failed",
        ),
        (f"Init container download of {W1} exited with code 2 (Error) at {ago(60)}.",),
    ),
    "no node fits": Case(
        (
            pod("w-1", conditions=(UNSCHEDULABLE,), spec={"nodeName": ""}, phase="Pending"),
            pod("w-2", conditions=(UNSCHEDULABLE,), spec={"nodeName": ""}, phase="Pending"),
        ),
        (
            f"The scheduler has not placed 2 pods of pod set gpu (w-1, w-2) since {ago(300)} "
            "(Unschedulable): "
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).",
        ),
    ),
    "scheduling gates": Case(
        one(conditions=(GATED,), phase="Pending"),
        (
            f"The scheduler has not placed {W1} since {ago(300)} (SchedulingGated): Scheduling is blocked "
            "due to "
            "non-empty scheduling gates.",
        ),
    ),
    "evicted by the kubelet": Case(
        one(
            container(ended(137)),
            phase="Failed",
            reason="Evicted",
            message=LOW,
            conditions=(condition("DisruptionTarget", True, "TerminationByKubelet", LOW),),
        ),
        (f"The kubelet evicted {W1} from node n1: {LOW.strip()}",),
    ),
    "refused by the kubelet": Case(
        one(
            phase="Failed",
            reason="OutOfcpu",
            message="Pod was rejected: Node didn't have enough resource: cpu",
        ),
        (
            "Pod w-1 of pod set gpu failed (OutOfcpu): Pod was rejected: Node didn't have enough "
            "resource: cpu.",
        ),
    ),
    "deleted from a lost node": Case(
        one(READY, conditions=(TAINTED,), deleted=True),
        (
            f"Kubernetes deletes {W1} on node n1 (DeletionByTaintManager): Taint manager: deleting due to "
            "NoExecute taint.",
        ),
    ),
    "a node that does not report": Case(
        one(READY, conditions=(condition("Ready", False),)),
        (
            f"Pod w-1 of pod set gpu ceased to be ready at {ago(300)} although all containers run: node n1 "
            "may be "
            "unreachable.",
        ),
    ),
    "a readiness gate": Case(one(READY, conditions=(condition("Ready", False, "ReadinessGatesNotReady"),))),
    "being deleted": Case(one(container(ended(143)), deleted=True)),
    "creating for a short time": Case(one(container(waits("ContainerCreating")), startTime=ago(30))),
    "creating for a long time": Case(
        starting(waits("ContainerCreating")),
        (
            f"Container ray-worker of {W1} has been starting since {ago(600)} (ContainerCreating): its "
            "image is "
            "being pulled, or a volume cannot be mounted.",
        ),
    ),
    "an init container for a long time": Case(
        one(container(waits("PodInitializing")), init=(container(runs(), name="wait-gcs-ready"),)),
        (f"Init container wait-gcs-ready of {W1} has been running since {ago(600)}.",),
    ),
    "not ready for a long time": Case(
        one(container(runs(for_s=500))),
        (f"Container ray-worker of {W1} has been running since {ago(500)} without becoming ready.",),
    ),
    "not ready for a short time": Case(one(container(runs(for_s=100)))),
    "workers that wait for a head with a problem": Case(
        (
            pod("a-head", container(waits("CreateContainerError", "no"), name="ray-head")),
            pod("w-1", container(waits("PodInitializing")), init=(container(runs(), name="wait-gcs-ready"),)),
        ),
        ("Container ray-head of pod a-head of pod set gpu cannot be created (CreateContainerError): no.",),
    ),
    "braces in names": Case(
        one(container(OOM, name="{pods}"), spec={"containers": []}),
        (f"Container {{pods}} of {W1} was OOM-killed (no memory limit) at {ago(60)}.",),
    ),
    "no pods": Case((), ("KubeRay has created 0 of 5 pods.",), GangPods(expected=5, operator="KubeRay")),
    "the API server refuses pods": Case(
        one(READY),
        (
            'KubeRay has created 1 of 5 pods (FailedCreateWorkerPod): pods "w-2" is forbidden: exceeded '
            "quota: q.",
        ),
        GangPods(
            expected=5,
            operator="KubeRay",
            creation_failure=StatusReason(
                "FailedCreateWorkerPod", 'pods "w-2" is forbidden: exceeded quota: q\nmore'
            ),
        ),
    ),
    "all pods after a failed creation": Case(
        one(READY),
        gang=GangPods(
            expected=1, operator="KubeRay", creation_failure=StatusReason("FailedCreateWorkerPod", "q")
        ),
    ),
}


def problems(case: Case) -> tuple[PodProblem, ...]:
    pods = tuple(detailed(body) for body in case.pods)
    pod_sets = {each.metadata.name: "gpu" for each in pods}
    gang = GangPods(pods, pod_sets, case.gang.expected, case.gang.operator, case.gang.creation_failure)
    return pod_problems(gang, NOW_MS)


@pytest.mark.parametrize("name", CASES)
def test_problems_of_pods_are_sentences(name: str) -> None:
    assert tuple(problem.sentence for problem in problems(CASES[name])) == CASES[name].sentences


def test_problems_of_whole_pods_come_first() -> None:
    bodies = (*CASES["out of memory just now"].pods, *CASES["no node fits"].pods[1:])
    crashing = pod("w-3", container(waits("CrashLoopBackOff"), ended(1)))
    reasons = [problem.reason for problem in problems(Case((*bodies, crashing)))]
    assert reasons == ["Unschedulable", "CrashLoopBackOff", "OOMKilled"]


def test_programs_get_the_facts_of_a_problem() -> None:
    (problem,) = problems(CASES["pods with the same image, of which one has the error"])
    assert document(problem) == {
        "sentence": problem.sentence,
        "reason": "ImagePullBackOff",
        "message": f"{IMAGE}: not found",
        "pods": ["w-1", "w-2", "w-3", "w-4", "w-5"],
        "podSets": ["gpu"],
        "containers": ["ray-worker"],
        "images": [IMAGE],
        "restarts": 0,
    }
