"""Faults of a sandbox with real nodes: nodes, and the pods and containers of the platform."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from random import Random

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes
from sandbox.realnodes.cluster import boot, kill_container
from sandbox.realnodes.environment import CONTROLLER
from sandbox.realnodes.kuberay import DEPLOYMENT
from settings.model.operators.namespaces import KUBERAY, MUSTER
from tests.storm.load import Fault
from tests.storm.replay import Outage
from tests.storm.services import Services
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError

REBOOT_S = (2.0, 10.0)
LOSS_S = (60.0, 90.0)
"""Longer than Kubernetes waits before it reports a node as lost."""
SHORT_S = (0.5, 6.0)
DEPLOYMENTS = {"KubeRay": (KUBERAY, DEPLOYMENT), "the controller": (MUSTER, CONTROLLER)}
"""Programs of the platform, with the namespace and the name of their Deployment."""
_Begin = Callable[[], AbstractContextManager[None]]


class RealFaults:
    """All faults; `any` chooses one at random, from these names if there are some."""

    def __init__(
        self,
        state: RunState,
        kubectl: Kubectl,
        random: Random,
        nodes: Sequence[str],
        services: Services,
        names: Sequence[str] = (),
    ) -> None:
        self._state, self._kubectl, self._random = state, kubectl, random
        self._nodes, self._services = sorted(nodes), services
        self.outages: list[Outage] = []
        faults: dict[str, tuple[tuple[float, float], _Begin]] = {
            "reboot a node": (REBOOT_S, self._kill_node),
            "lose a node": (LOSS_S, self._kill_node),
            "restart the API server": (SHORT_S, lambda: self._take_down("kube-apiserver")),
            "restart etcd": (SHORT_S, lambda: self._take_down("etcd")),
        }
        for program, deployment in DEPLOYMENTS.items():
            faults[f"delete a pod of {program}"] = SHORT_S, self._pod_fault(self._delete, deployment)
            faults[f"kill a container of {program}"] = SHORT_S, self._pod_fault(self._kill, deployment)
        self.faults = {name: faults[name] for name in names or sorted(faults)}

    def any(self) -> Fault:
        """Returns a fault, which has not begun."""
        name = self._random.choice(sorted(self.faults))
        bounds_s, begin = self.faults[name]
        return Fault(name, self._random.uniform(*bounds_s), begin())

    @contextlib.contextmanager
    def _kill_node(self) -> Iterator[None]:
        """Kills the namespaces of a node with everything in it, and starts it again."""
        node = self._random.choice(self._nodes)
        Processes(self._state).kill(node)
        try:
            yield
        finally:
            boot(self._state, node)

    @contextlib.contextmanager
    def _take_down(self, component: str) -> Iterator[None]:
        begins_s = time.time()
        self._services.kill(component)
        try:
            yield
        finally:
            self._services.keep()
            self.outages.append(Outage(begins_s, time.time()))

    def _pod_fault(self, harm: Callable[[Object], None], deployment: tuple[str, str]) -> _Begin:
        @contextlib.contextmanager
        def begin() -> Iterator[None]:
            number = self._random.random()  # drawn whether or not there is a pod, for a repeated seed
            with contextlib.suppress(StepError):  # the API server or a node may still be starting
                if pods := self._pods(*deployment):
                    harm(pods[int(number * len(pods))])
            yield

        return begin

    def _pods(self, namespace: str, deployment: str) -> list[Object]:
        pods = self._kubectl.objects("pods", "--namespace", namespace)
        own = [pod for pod in pods if pod["metadata"]["name"].startswith(f"{deployment}-")]
        return sorted(own, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        self._kubectl.run("delete", "pod", meta["name"], "-n", meta["namespace"], "--wait=false")

    def _kill(self, pod: Object) -> None:
        """Kills the pod's containers, as the kernel does if memory is short."""
        for status in pod["status"].get("containerStatuses", ()):
            container = status.get("containerID", "").removeprefix("containerd://")
            if container:
                kill_container(self._state, pod["spec"]["nodeName"], container)
