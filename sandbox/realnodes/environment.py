"""Additions of real nodes to a sandbox: their images, the nodes, and the platform's programs in pods."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import yaml

from sandbox.cluster.control_plane import NodeNetwork, authority, create_nodes
from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import static_nodes
from sandbox.cluster.page_process import NAME as PAGE_PROCESS
from sandbox.cluster.page_process import save_address
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until
from sandbox.images.debian import extracted
from sandbox.images.ensure import bytes_to_build, ensure_images
from sandbox.images.ensure import check as check_images
from sandbox.images.image import Image
from sandbox.realnodes.access import access_objects, api_endpoint
from sandbox.realnodes.addresses import ROUTES, SERVICES, Addresses, free_block
from sandbox.realnodes.cluster import PACKAGES, Nodes
from sandbox.realnodes.deployments import wait_available
from sandbox.realnodes.dns import start_dns
from sandbox.realnodes.kuberay import DEPLOYMENT as KUBERAY_DEPLOYMENT
from sandbox.realnodes.kuberay import deploy_kuberay
from sandbox.realnodes.kueue import DEPLOYMENT as KUEUE_DEPLOYMENT
from sandbox.realnodes.kueue import deploy_kueue
from sandbox.realnodes.machine import missing
from settings.model.operators import namespaces
from settings.model.operators.kuberay import KubeRay
from settings.model.operators.kueue import Kueue
from settings.model.pools.pool import Pool
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

CONTROLLER, PAGE = "muster-controller", "muster-page"
_LABEL = "--selector=app.kubernetes.io/name="
PODS = {
    "controller": ("--namespace", namespaces.MUSTER, f"{_LABEL}{CONTROLLER}"),
    "page": ("--namespace", namespaces.MUSTER, f"{_LABEL}{PAGE}"),
    "kueue": ("--namespace", namespaces.KUEUE, f"{_LABEL}kueue"),
    "ray-operator": ("--namespace", namespaces.KUBERAY, f"{_LABEL}{KUBERAY_DEPLOYMENT}"),
}
"""The arguments of `kubectl logs` for programs that are processes of the machine without real nodes."""
NODE_BYTES = 3 << 30
"""Disk of two nodes: the images, unpacked once in each."""
MEMORY_BYTES = 4 << 30
"""Memory of the control plane, two nodes, the platform's pods, and a Ray cluster of three pods."""
PAGE_SECONDS_MAX = 30.0
DEVICE_CLASS: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
}
"""The class of the nodes' devices (dra-example-driver, deployments/helm)."""


@dataclass
class RealNodes:
    """The real nodes of a sandbox that is being created; methods are in the order of their use."""

    state: RunState
    screen: Screen
    engine: str
    images: Sequence[Image] = ()

    def check(self) -> None:
        """Raises StepError if this machine lacks a program, a kernel feature, disk or memory."""
        if (reason := missing()) is not None:
            raise StepError(reason, try_this=f"{self.state.command('up')} (simulated nodes)")
        to_build = bytes_to_build(self.engine)
        check_images(to_build)  # the cache can be on another disk
        needed = to_build + NODE_BYTES
        free = shutil.disk_usage(self.state.checkout).free
        memory = psutil.virtual_memory().available
        self.screen.line(
            f"  real nodes need {_gb(needed)} of disk ({_gb(free)} free) and {_gb(MEMORY_BYTES)} of memory "
            f"({_gb(memory)} available)"
        )
        lacking = [
            f"{_gb(need)} of {what}, and {_gb(has)} are free"
            for what, need, has in (("disk", needed, free), ("memory", MEMORY_BYTES, memory))
            if has < need
        ]
        if lacking:
            raise StepError(
                f"real nodes need {'; '.join(lacking)}", try_this="free some, then run this again"
            )

    def prepare(self) -> str:
        """Builds the images, and unpacks the packages of the nodes."""
        extracted(PACKAGES)
        self.images = ensure_images(self.screen, self.engine)
        return f"{len({image.archive for image in self.images})} images"

    @cached_property
    def addresses(self) -> Addresses:
        """The addresses of this sandbox. Raises StepError if the machine has routes to all that could be."""
        try:
            return free_block(ROUTES.read_text())
        except ValueError as error:
            raise StepError(str(error), try_this="stop other sandboxes, or remove these routes") from error

    @property
    def network(self) -> NodeNetwork:
        """The network settings of the control plane."""
        return NodeNetwork(self.addresses.machine, SERVICES, authority(self.state))

    def start(self, kubectl: Kubectl, tools: Mapping[str, Path], pools: Sequence[Pool]) -> list[str]:
        """Starts the nodes of pools that are not queued, and imports the images; returns the nodes' names.

        kwok simulates nodes with accelerators, as this machine has none.
        """
        port, packages = api_port(self.state.kubeconfig), extracted(PACKAGES)
        nodes = Nodes(self.state, self.addresses, port, authority(self.state), tools, packages)
        kubectl.create([*access_objects(), api_endpoint(self.addresses.machine), DEVICE_CLASS])
        nodes.start_network()
        names: list[str] = []
        for pool in (pool for pool in pools if not pool.queued and not has_accelerators(pool)):
            for index in range(pool.nodes_max):
                name = f"gke-{pool.name}-{index}"
                nodes.start(name, len(names), pool)
                names.append(name)
        nodes.wait_ready(kubectl, names)
        with self.screen.activity(lambda elapsed: f"  importing images for {elapsed:.0f} s"):
            nodes.import_images(names, self.images)
        if simulated := static_nodes([pool for pool in pools if has_accelerators(pool)]):
            create_nodes(kubectl, simulated)
        start_dns(kubectl)
        return names

    def deploy_kuberay(self, kubectl: Kubectl, settings: KubeRay, batch_scheduler: str) -> None:
        """Starts the stock KubeRay operator in a pod, with the resources of the stack's settings."""
        deploy_kuberay(kubectl, self.state.root / "kuberay", settings, batch_scheduler)
        wait_available(kubectl, namespaces.KUBERAY, KUBERAY_DEPLOYMENT)

    def deploy_kueue(self, kubectl: Kubectl, helm: Path, settings: Kueue) -> str:
        """Starts Kueue in a pod with the chart's Deployment and RBAC; returns the number of its replicas."""
        deploy_kueue(kubectl, helm, self.state.root / "kueue.yaml", settings)
        return wait_available(kubectl, namespaces.KUEUE, KUEUE_DEPLOYMENT)

    def wait_for_controller(self, kubectl: Kubectl) -> str:
        """Waits for the controller's Deployment, as `pulumi up` declared it."""
        return wait_available(kubectl, namespaces.MUSTER, CONTROLLER)

    def open_page(self, kubectl: Kubectl) -> str:
        """Waits for the page's Deployment, and forwards a port of this machine to its Service."""
        wait_available(kubectl, namespaces.MUSTER, PAGE)
        port = free_port()
        argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), "port-forward"]
        argv += ["-n", namespaces.MUSTER, f"service/{PAGE}", f"{port}:80"]
        processes = Processes(self.state)
        processes.start(PAGE_PROCESS, argv, restarted=True)
        address = f"http://127.0.0.1:{port}/"
        check = partial(processes.check, PAGE_PROCESS)
        wait_until(f"an answer of {address}", lambda: answers(f"{address}healthz"), PAGE_SECONDS_MAX, check)
        save_address(self.state, address)
        return address


def has_accelerators(pool: Pool) -> bool:
    """Returns whether the pool's nodes offer extended resources, such as GPUs."""
    return any("/" in resource for resource in pool.capacity)


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def api_port(kubeconfig: Path) -> int:
    """Returns the port of the API server on loopback."""
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    port: int | None = urlsplit(server).port
    if port is None:
        raise StepError(f"{kubeconfig}: expected a server with a port: {server}")
    return port
