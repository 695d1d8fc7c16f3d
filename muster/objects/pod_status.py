"""Pods with the statuses of their containers, as kubelets report them.

Source: Kubernetes v1.36.3 core/v1 PodStatus, ContainerStatus, ContainerState.
"""

from muster.objects.meta import Condition, Object, View
from muster.objects.pods import PodSpec


class Waiting(View):
    reason: str = ""  # such as ImagePullBackOff or ContainerCreating
    message: str = ""


class Running(View):
    started_at: str = ""


class Terminated(View):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""  # such as Completed, Error or OOMKilled
    message: str = ""  # of the runtime or, after an exit, from the container's termination log
    finished_at: str | None = None


class ContainerState(View):
    """At most one of the states is set; a container without a state waits."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(View):
    name: str = ""
    image: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()  # before the last restart


class DetailedPodStatus(View):
    phase: str = ""
    reason: str = ""  # why the whole pod failed, such as Evicted
    message: str = ""
    start_time: str = ""  # when the kubelet accepted the pod
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class DetailedPod(Object):
    """A pod as its users debug it."""

    spec: PodSpec = PodSpec()
    status: DetailedPodStatus = DetailedPodStatus()
