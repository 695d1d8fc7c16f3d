"""Explains why pods of a gang that holds quota do not run, or that they were killed.

Source: Kubernetes v1.36.3, the conditions PodScheduled and DisruptionTarget of core/v1, and the reasons of
failed pods in pkg/kubelet (eviction/helpers.go, nodeshutdown/nodeshutdown_manager.go).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from muster.cluster.jobs.job import StatusReason
from muster.live.gang_pods import GangPods
from muster.live.overview.container_symptoms import Severity, Symptom, container_symptoms, slow_symptoms
from muster.live.overview.pod_messages import one_line, unplaced
from muster.objects.core import reports_lost_node
from muster.objects.meta import Condition, find_condition, millis, rfc3339
from muster.objects.pod_status import DetailedPod, DetailedPodStatus

NAMES_MAX = 3
"""The number of names in a sentence."""


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Pods of a gang with the same problem: a sentence, and its facts for programs."""

    sentence: str
    reason: str  # in Kubernetes' words, such as ImagePullBackOff
    message: str = ""
    pods: tuple[str, ...] = ()
    pod_sets: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()  # empty for a problem of entire pods
    images: tuple[str, ...] = ()
    restarts: int = 0  # of the container that restarted most often


def pod_problems(gang: GangPods, now_ms: int) -> tuple[PodProblem, ...]:
    """Returns the problems of a gang's pods, in the order of Severity. Containers that take long to become
    ready are reported only if there is no other problem, as workers wait for their head."""
    symptoms = [(pod, symptom) for pod in gang.pods for symptom in _symptoms(pod, gang.pod_set(pod))]
    if not symptoms:
        running = (pod for pod in gang.pods if not pod.metadata.deletion_timestamp)
        symptoms = [(pod, symptom) for pod in running for symptom in slow_symptoms(pod, now_ms)]
    groups: dict[tuple[object, ...], list[tuple[DetailedPod, Symptom]]] = defaultdict(list)
    for pod, symptom in symptoms:
        groups[symptom.group].append((pod, symptom))
    ordered = sorted(groups.values(), key=lambda members: members[0][1].severity)
    return (*_missing(gang), *(_problem(members, gang) for members in ordered))


def _missing(gang: GangPods) -> Iterator[PodProblem]:
    """Yields the problem that the operator has not created all pods of the gang."""
    if gang.created < gang.expected:
        failure = gang.creation_failure or StatusReason("MissingPods", "")
        message = one_line(failure.message)
        because = f" ({failure.reason}): {message}" if message else ""
        created = f"{gang.operator} has created {gang.created} of {gang.expected} pods"
        yield PodProblem(f"{created}{because}.", failure.reason, message)


def _symptoms(pod: DetailedPod, pod_set: str) -> Iterator[Symptom]:
    """Yields the problem of a pod as a whole, or else the problems of its containers."""
    status = pod.status
    disrupted = find_condition(status.conditions, "DisruptionTarget")
    scheduled = find_condition(status.conditions, "PodScheduled")
    if status.phase == "Failed" and status.reason:
        yield _failed(status)
    elif disrupted is not None and disrupted.status == "True":
        sentence = "Kubernetes deletes {pods} on {nodes} ({reason}){message}."
        yield _of_pod(Severity.POD, sentence, disrupted, one_line(disrupted.message))
    elif pod.metadata.deletion_timestamp:
        return  # its containers are being stopped
    elif scheduled is not None and scheduled.status == "False":
        sentence = "The scheduler has not placed {pods} since {since} ({reason}){message}."
        yield _of_pod(Severity.NOT_SCHEDULED, sentence, scheduled, unplaced(scheduled.message), pod_set)
    elif (unready := _cut_off(status)) is not None:
        sentence = (
            "{pods} ceased to be ready at {since} although all containers run: {nodes} may be unreachable."
        )
        yield _of_pod(Severity.POD, sentence, unready)
    else:
        yield from container_symptoms(pod)


def _of_pod(
    severity: Severity, sentence: str, condition: Condition, message: str = "", *group: str
) -> Symptom:
    reason, at_ms = condition.reason or "NotReady", millis(condition.last_transition_time)
    return Symptom(severity, (sentence, reason, *group), sentence, reason, message, at_ms)


def _failed(status: DetailedPodStatus) -> Symptom:
    evicted = status.reason == "Evicted"
    sentence = (
        "The kubelet evicted {pods} from {nodes}{message}."
        if evicted
        else "{pods} failed ({reason}){message}."
    )
    return Symptom(Severity.POD, (sentence, status.reason), sentence, status.reason, one_line(status.message))


def _cut_off(status: DetailedPodStatus) -> Condition | None:
    """Returns the condition Ready of a running pod whose node does not report."""
    lost = (c for c in status.conditions if status.phase == "Running" and reports_lost_node(c))
    return next(lost, None)


def _problem(members: Sequence[tuple[DetailedPod, Symptom]], gang: GangPods) -> PodProblem:
    """Returns the problem of the pods with the same symptom. The message is the most detailed: of a kubelet's
    backoff and the error before it, only one may contain the cause."""
    symptoms = [symptom for _, symptom in members]
    message = max((symptom.message for symptom in symptoms), key=len)
    times = [symptom.at_ms for symptom in symptoms]
    restarts = max(symptom.restarts for symptom in symptoms)
    reason, image = symptoms[0].reason, symptoms[0].image
    pods = {pod.metadata.name: gang.pod_set(pod) for pod, _ in members}
    sentence = symptoms[0].sentence.format(
        pods=_pods(pods),
        nodes=_names("node", sorted({pod.spec.node_name for pod, _ in members} - {""})) or "an unknown node",
        since=rfc3339(min(times)),
        last=rfc3339(max(times)),
        reason=reason,
        image=image,
        message=f": {message}" if message else "",
        restarts=f"; restarts: {restarts}" if restarts else "",
    )
    return PodProblem(
        sentence=sentence[0].upper() + sentence[1:],
        reason=reason,
        message=message,
        pods=tuple(pods),
        pod_sets=_distinct(pods.values()),
        containers=_distinct(symptom.container for symptom in symptoms),
        images=_distinct(symptom.image for symptom in symptoms),
        restarts=restarts,
    )


def _pods(pods: dict[str, str]) -> str:
    """Returns the pods as part of a sentence, such as "3 pods of pod set gpu (a, b, c)"."""
    sets = _distinct(pods.values())
    of = f" of {_names('pod set', sets)}" if sets else ""
    if len(pods) == 1:
        return f"pod {next(iter(pods))}{of}"
    return f"{len(pods)} pods{of} ({_listed(tuple(pods))})"


def _names(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {_listed(names)}" if names else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return f"{', '.join(names[:NAMES_MAX])}{more}"


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names) - {""}))
