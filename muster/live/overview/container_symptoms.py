"""Reads from the statuses of a pod's containers why they do not run, or that they were killed.

Source: Kubernetes v1.36.3, the reasons that pkg/kubelet writes (images/types.go,
kuberuntime/kuberuntime_container.go, container/sync_result.go, kubelet_pods.go), and
those of CRI and containerd.
"""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from muster.live.overview.pod_messages import one_line, pull_error, start_error
from muster.objects.meta import millis
from muster.objects.pod_status import ContainerStatus, DetailedPod, Terminated, Waiting

PULL_REASONS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
CRASH_LOOP, INVALID_IMAGE, OOM_KILLED = "CrashLoopBackOff", "InvalidImageName", "OOMKilled"
STARTING = ("ContainerCreating", "PodInitializing", "")
"""Reasons for which a container waits in a pod without problems."""
RUNTIME_REASONS = ("StartError", "ContainerCannotRun", "ContainerStatusUnknown")
"""Ends whose message is from the runtime. Any other end has the output of the container, which may contain
secrets."""
SLOW_MS = 120_000
"""The time after which a container that is not ready is reported."""


class Severity(IntEnum):
    """The order of problems."""

    POD = 0
    NOT_SCHEDULED = 1
    IMAGE = 2
    NOT_CREATED = 3
    CRASH_LOOP = 4
    EXITED = 5
    SLOW = 6


@dataclass(frozen=True, slots=True)
class Symptom:
    """A problem of one pod or container. Pods with equal groups share a sentence.

    It is a template with the fields {pods}, {nodes}, {reason}, {image}, {message}, {restarts}, and {since}
    and {last}, the first and the last time in the group."""

    severity: Severity
    group: tuple[str, ...]
    sentence: str
    reason: str
    message: str = ""
    at_ms: int = 0
    container: str = ""
    image: str = ""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class _Container:
    """A container of a pod, with its status."""

    status: ContainerStatus
    is_init: bool
    memory_limit: str  # of the container or its pod; empty if there is none

    @property
    def noun(self) -> str:
        return f"{'Init container' if self.is_init else 'Container'} {self.status.name}"

    def symptom(
        self, severity: Severity, predicate: str, reason: str, message: str, at_ms: int = 0
    ) -> Symptom:
        """Returns a symptom whose sentence begins with the container."""
        sentence = f"{_literal(self.noun)} of {{pods}} {predicate}"
        name, image, restarts = self.status.name, self.status.image, self.status.restart_count
        return Symptom(severity, (sentence,), sentence, reason, message, at_ms, name, image, restarts)


def container_symptoms(pod: DetailedPod) -> Iterator[Symptom]:
    """Yields at most one problem of each container."""
    for container in _containers(pod):
        symptom = _symptom(container)
        if symptom is not None:
            yield symptom


def slow_symptoms(pod: DetailedPod, now_ms: int) -> Iterator[Symptom]:
    """Yields the first container that has not become ready for SLOW_MS."""
    starting = (_starting(container, pod) for container in _containers(pod))
    slow = next(filter(None, starting), None)
    if slow is not None and now_ms - slow.at_ms >= SLOW_MS:
        yield slow


def _starting(container: _Container, pod: DetailedPod) -> Symptom | None:
    """Returns why the container is not ready, whether that takes long or not; None if it is or has ended."""
    status = container.status
    waiting, running = status.state.waiting, status.state.running
    if running is not None and not status.ready:
        predicate = "has been running since {since}" + (
            "." if container.is_init else " without becoming ready."
        )
        return container.symptom(Severity.SLOW, predicate, "NotReady", "", millis(running.started_at))
    if waiting is not None:
        predicate = (
            "has been starting since {since} ({reason}): its image is being pulled, or a volume cannot be "
            "mounted."
        )
        return container.symptom(
            Severity.SLOW, predicate, waiting.reason or STARTING[0], "", millis(pod.status.start_time)
        )
    return None


def _containers(pod: DetailedPod) -> Iterator[_Container]:
    """Yields the containers of a pod in the order of their start."""
    limits = {c.name: c.resources.limits for c in (*pod.spec.init_containers, *pod.spec.containers)}
    of_pod = pod.spec.resources.limits.get("memory", "")
    groups = ((True, pod.status.init_container_statuses), (False, pod.status.container_statuses))
    for is_init, statuses in groups:
        for status in statuses:
            yield _Container(status, is_init, str(limits.get(status.name, {}).get("memory", of_pod)))


def _symptom(container: _Container) -> Symptom | None:
    status = container.status
    waiting, ended, last = status.state.waiting, status.state.terminated, status.last_state.terminated
    if waiting is not None and waiting.reason not in (*STARTING, CRASH_LOOP):
        return _not_created(container, waiting)
    if waiting is not None and waiting.reason == CRASH_LOOP:
        return _crash_loop(container, last)
    if ended is not None and ended.exit_code:
        return _exited(container, ended)
    if last is not None and (last.reason == OOM_KILLED or (last.exit_code and not status.ready)):
        return _exited(container, last)
    return None


def _not_created(container: _Container, waiting: Waiting) -> Symptom:
    status, reason = container.status, waiting.reason
    if reason not in (*PULL_REASONS, INVALID_IMAGE):
        predicate = "cannot be created ({reason}){message}."
        return container.symptom(Severity.NOT_CREATED, predicate, reason, one_line(waiting.message))
    sentence = "Image name {image} is invalid ({reason}) in {pods}{message}."
    if reason in PULL_REASONS:
        sentence = "Image {image} cannot be pulled ({reason}) for {pods}{message}."
    return Symptom(
        Severity.IMAGE,
        (sentence, status.image),
        sentence,
        reason,
        pull_error(waiting.message),
        container=status.name,
        image=status.image,
        restarts=status.restart_count,
    )


def _crash_loop(container: _Container, last: Terminated | None) -> Symptom:
    end = f": it last {_end(container, last)} at {{last}}" if last is not None else ""
    predicate = f"is in a crash loop ({{reason}}){end}{{message}}{{restarts}}."
    message, at_ms = (_runtime_message(last), millis(last.finished_at)) if last is not None else ("", 0)
    return container.symptom(Severity.CRASH_LOOP, predicate, CRASH_LOOP, message, at_ms)


def _exited(container: _Container, end: Terminated) -> Symptom:
    predicate = f"{_end(container, end)} at {{last}}{{message}}{{restarts}}."
    reason, at_ms = end.reason or "Error", millis(end.finished_at)
    return container.symptom(Severity.EXITED, predicate, reason, _runtime_message(end), at_ms)


def _end(container: _Container, end: Terminated) -> str:
    """Returns how the container ended, as the predicate of a sentence."""
    if end.reason == OOM_KILLED:
        limit = container.memory_limit
        return f"was OOM-killed ({_literal(f'memory limit {limit}' if limit else 'no memory limit')})"
    names = [end.reason or "Error"]
    number = end.signal or end.exit_code - 128  # a shell's convention, which runtimes follow
    if number in set(signal.Signals):
        names.append(signal.Signals(number).name)
    return f"exited with code {end.exit_code} ({_literal(', '.join(names))})"


def _runtime_message(end: Terminated) -> str:
    return start_error(end.message) if end.reason in RUNTIME_REASONS else ""


def _literal(text: str) -> str:
    """Returns the text as part of a template."""
    return text.replace("{", "{{").replace("}", "}}")
