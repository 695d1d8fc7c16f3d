"""Starts the network and the real nodes of a sandbox, and cleans up after them."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from sandbox.cluster.kinds import is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.images.image import Image
from sandbox.realnodes import cgroups
from sandbox.realnodes.access import NETWORK_USER
from sandbox.realnodes.addresses import API_PORT, Addresses
from sandbox.realnodes.certificates import (
    Identity,
    node_identity,
    write_certificate,
    write_kubeconfig,
)
from sandbox.realnodes.namespaces import enter
from sandbox.realnodes.node_settings import CONTAINERD_SOCKET
from sandbox.realnodes.spec import NodeSpec, read_spec
from sandbox.realnodes.switch import READY, connect_machine
from settings.model.pools.pool import Pool
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError
from tools.toolchain.tools import NODE_PROGRAMS

PACKAGES = ("nftables", "runc", "containernetworking-plugins", "iptables", "ipset")
"""Debian's packages for a node's programs: kube-proxy runs nft, containerd runs runc and the CNI plug-ins,
network-policies runs iptables and ipset."""
SWITCH, FORWARDER = "switch", "api-forwarder"
NODES_FOLDER = "nodes"
"""The folder of a sandbox's run state with a folder for each node."""
NODE_FILE = "node.json"
ZONE_LABEL, ZONE = "topology.kubernetes.io/zone", "sandbox"
"""The label that a cloud gives a node. The scheduler ignores nodes without it when it spreads pods over zones
and nodes (podtopologyspread/scoring.go: IgnoredNodes)."""
_SWITCH_MODULE = "sandbox.realnodes.switch"
READY_SECONDS_MAX = 120.0
IMPORT_SECONDS_MAX = 300.0
KILL_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Nodes:
    """The real nodes of a sandbox. `authority`: the folder with the cluster's ca.crt and ca.key."""

    state: RunState
    addresses: Addresses
    api_port: int
    authority: Path
    tools: Mapping[str, Path]
    packages: Path

    @property
    def processes(self) -> Processes:
        """The sandbox's processes."""
        return Processes(self.state)

    @property
    def server(self) -> str:
        """The address of the API server, as nodes use it."""
        return f"https://{self.addresses.machine}:{API_PORT}"

    def start_network(self) -> None:
        """Starts the switch and the forwarder to the API server. Raises StepError."""
        processes = self.processes
        argv = [sys.executable, "-m", _SWITCH_MODULE, str(self.addresses.block)]
        processes.start(SWITCH, ["unshare", "--net", "--", *argv])
        log = self.state.log(SWITCH)
        check = partial(processes.check, SWITCH)
        wait_until("the network of the nodes", lambda: READY in log.read_text(), READY_SECONDS_MAX, check)
        connect_machine(self.switch_pid, self.addresses)
        forwarder = ["-m", "sandbox.realnodes.forwarder", self.addresses.machine, str(API_PORT)]
        forwarder.append(str(self.api_port))
        processes.start(FORWARDER, [sys.executable, *forwarder], restarted=True)

    @property
    def switch_pid(self) -> int:
        """The process in the network's namespace."""
        return self.processes.table()[SWITCH].pid

    def start(self, name: str, number: int, pool: Pool) -> None:
        """Starts a node of a pool; the API server knows it once `wait_ready` has returned."""
        folder = self.state.root / NODES_FOLDER / name
        spec = NodeSpec(
            name=name,
            number=number,
            folder=folder,
            logs=self.state.logs,
            addresses=self.addresses,
            network_pid=self.switch_pid,
            control_group=control_group(self.state, name),
            tools={tool: self.tools[tool] for tool in NODE_PROGRAMS},
            packages=self.packages,
            labels={ZONE_LABEL: ZONE, **pool.node_labels},
            taints=[taint._asdict() for taint in pool.node_taints],
        )
        spec.settings.mkdir(parents=True, exist_ok=True)
        self._identify(node_identity(name, spec.address), spec.settings)
        self._identify(Identity(NETWORK_USER), spec.network_policies)
        spec.write(folder / NODE_FILE)
        boot(self.state, name)

    def _identify(self, identity: Identity, folder: Path) -> None:
        """Writes a certificate and a kubeconfig of this identity to the folder."""
        folder.mkdir(exist_ok=True)
        write_certificate(self.authority, identity, folder)
        shutil.copy(self.authority / "ca.crt", folder / "ca.crt")
        write_kubeconfig(folder / "kubeconfig", folder, self.server)

    def wait_ready(self, kubectl: Kubectl, names: Sequence[str]) -> None:
        """Waits until all of these nodes are Ready. Raises StepError if a node's process has ended."""

        def ready() -> bool:
            nodes = kubectl.objects("nodes")
            return set(names) <= {node["metadata"]["name"] for node in nodes if is_true(node, "Ready")}

        def alive() -> None:
            for name in names:
                self.processes.check(name)

        wait_until(f"{', '.join(names)} Ready", ready, READY_SECONDS_MAX, alive, pause_seconds=0.3)

    def import_images(self, names: Sequence[str], images: Sequence[Image]) -> None:
        """Imports the images into all nodes in parallel. Raises StepError."""
        archives = sorted({image.archive for image in images}, key=lambda path: path.name)
        imports = [self._import(name, archives) for name in names]
        for name, process in zip(names, imports, strict=True):
            try:
                output, _ = process.communicate(timeout=IMPORT_SECONDS_MAX)
            except subprocess.TimeoutExpired as error:
                process.kill()
                limit = f"{IMPORT_SECONDS_MAX:.0f} s"
                raise StepError(f"importing the images into {name} took more than {limit}") from error
            if process.returncode != 0:
                raise StepError(f"cannot import the images into {name}: {output.strip()}")

    def _import(self, node: str, archives: Sequence[Path]) -> subprocess.Popen[str]:
        ctr = " ".join(_client(self.tools["ctr"]))
        command = " && ".join(f"{ctr} images import --local {archive}" for archive in archives)
        return subprocess.Popen(
            [*enter_node(self.state, node), "sh", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def boot(state: RunState, node: str) -> None:
    """Starts a node from its files: a new node, or one that was killed, as after a reboot of its machine."""
    file = state.root / NODES_FOLDER / node / NODE_FILE
    Processes(state).start(node, [sys.executable, "-m", "sandbox.realnodes.node", str(file)])


def kill_container(state: RunState, node: str, container: str) -> None:
    """Sends SIGKILL to the first process of a container on the node; no error if it has ended.

    container: its ID in containerd. Raises StepError if the node does not run.
    """
    ctr = _client(read_spec(state.root / NODES_FOLDER / node / NODE_FILE).tools["ctr"])
    argv = [*enter_node(state, node), *ctr, "tasks", "kill", "--signal", "SIGKILL", container]
    subprocess.run(argv, capture_output=True, timeout=KILL_SECONDS_MAX)


def _client(ctr: Path) -> list[str]:
    """Returns the command of containerd's client, for the kubelet's containers."""
    return [str(ctr), "--address", CONTAINERD_SOCKET, "--namespace", "k8s.io"]


def enter_node(state: RunState, node: str) -> list[str]:
    """Returns the command that runs another command inside a node. Raises StepError if it does not run."""
    pid = node_pid(state, node)
    if pid is None:
        raise StepError(f"node {node} is not running", try_this=state.command("status"))
    return enter(pid)


def node_pid(state: RunState, node: str) -> int | None:
    """Returns the pid, on the machine, of a node's first process; None if the node does not run."""
    record = Processes(state).table().get(node)
    process = record.process() if record else None
    if process is None:
        return None
    own = os.readlink("/proc/self/ns/pid")
    for child in process.children(recursive=True):
        try:
            if os.readlink(f"/proc/{child.pid}/ns/pid") != own:
                return child.pid
        except (OSError, psutil.NoSuchProcess):
            continue
    return None


def control_group(state: RunState, node: str) -> str:
    """Returns the name of a node's control group.

    No other sandbox has it: several checkouts can have one of the same name, and a name can begin with
    another.
    """
    return f"muster_{hashlib.sha256(str(state.root).encode()).hexdigest()[:12]}_{node}"


def interfaces(state: RunState) -> list[str]:
    """Returns the names of the machine's interfaces in the sandbox's network, while its switch runs."""
    names = []
    for process in Processes(state).marked(SWITCH):
        with suppress(psutil.NoSuchProcess):  # it has ended since
            module, block = ["", "", *process.cmdline()][-2:]
            if module == _SWITCH_MODULE:
                names.append(Addresses(int(block)).interface)
    return names


def remove_leftovers(state: RunState, interfaces: Sequence[str] = (), groups: Path = cgroups.ROOT) -> None:
    """Removes what killed nodes and a killed switch leave on the machine: control groups, and interfaces,
    which the kernel removes only some time after their namespace has ended. Raises StepError."""
    for interface in interfaces:
        subprocess.run(["ip", "link", "delete", interface], capture_output=True)  # fails if it is gone
    if not (state.root / NODES_FOLDER).is_dir():
        return
    for name in cgroups.names(control_group(state, ""), groups):
        try:
            cgroups.remove_when_empty(name, groups)
        except OSError as error:
            raise StepError(
                f"control group {name} cannot be removed: {error}",
                try_this="end the processes in its cgroup.procs files, then run this again",
            ) from error
