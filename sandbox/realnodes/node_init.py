"""The first process of a node, inside its namespaces: mounts, network, and the node's programs.

When it ends, the kernel ends every process of the node and removes its mounts and interfaces.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.cluster.processes import wait_until
from sandbox.realnodes.namespaces import run
from sandbox.realnodes.node_settings import (
    CONTAINERD_ROOT,
    CONTAINERD_SOCKET,
    KUBELET_ROOT,
    programs,
)
from sandbox.realnodes.spec import NodeSpec, read_spec

UPLINK = "up0"
UPLINK_SECONDS_MAX = 30.0
SOCKET_SECONDS_MAX = 60.0
RESTART_SECONDS = 1.0
PRIVATE = "/run"
"""A folder that is empty in a node, to hide the machine's sockets."""
COPIED_ON_WRITE = ("/var/lib", "/var/log", "/opt")
"""Folders of the node's programs whose content must not appear on the machine."""
SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""Values that the kubelet requires (cmd/kubelet: protect-kernel-defaults). Files mounted over them
leave the machine's own settings unchanged."""


def main(path: Path) -> None:
    """Runs the node until it is killed."""
    spec = read_spec(path)
    mount(spec)
    network(spec)
    signal.signal(signal.SIGTERM, _end)
    supervise(spec)


def mount(spec: NodeSpec) -> None:
    """Mounts the node's file systems, which are invisible on the machine."""
    run("mount", "--make-rshared", "/")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", PRIVATE)
    for folder in COPIED_ON_WRITE:
        changes = Path(PRIVATE, "node", folder.strip("/").replace("/", "-"))
        for name in ("upper", "work"):
            (changes / name).mkdir(parents=True)
        layers = f"lowerdir={folder},upperdir={changes / 'upper'},workdir={changes / 'work'}"
        run("mount", "-t", "overlay", "-o", layers, "overlay", folder)
    for target, name in ((CONTAINERD_ROOT, "containerd"), (KUBELET_ROOT, "kubelet")):
        source = spec.folder / name
        source.mkdir(parents=True, exist_ok=True)
        Path(target).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(source), target)
        run("mount", "--make-rshared", target)
    for name in ("resolv.conf", "hosts"):
        run("mount", "--bind", str(spec.settings / name), f"/etc/{name}")
    sysctls = spec.settings / "sysctls"
    sysctls.mkdir(exist_ok=True)
    for name, value in SYSCTLS.items():
        file = sysctls / name.replace("/", ".")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{name}")


def network(spec: NodeSpec) -> None:
    """Waits until the machine has moved the interface here, then sets the node's address and routes."""
    wait_until(f"interface {UPLINK}", lambda: _has_interface(UPLINK), UPLINK_SECONDS_MAX)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "set", UPLINK, "name", "eth0")
    run("ip", "address", "add", f"{spec.address}/24", "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")
    run("ip", "route", "add", "default", "via", spec.addresses.gateway)
    # These apply to this namespace only; the second shows packets between pods of the node to iptables.
    for name in ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables"):
        Path("/proc/sys/net", name).write_text("1\n")


def supervise(spec: NodeSpec) -> None:
    """Starts the programs, restarts a program that ends, and reaps orphans of containers."""
    commands = programs(spec)
    environment = _environment(spec)
    running: dict[int, str] = {}
    for name, argv in commands.items():
        running[_start(spec, name, argv, environment)] = name
        if name == "containerd":
            wait_until(CONTAINERD_SOCKET, Path(CONTAINERD_SOCKET).exists, SOCKET_SECONDS_MAX)
    while True:
        pid, _status = os.wait()
        if (ended := running.pop(pid, None)) is not None:
            time.sleep(RESTART_SECONDS)
            running[_start(spec, ended, commands[ended], environment)] = ended


def _start(spec: NodeSpec, name: str, argv: Sequence[str], environment: Mapping[str, str]) -> int:
    with (spec.logs / f"{spec.name}-{name}.log").open("a") as log:
        child = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(environment)
        )
    child.returncode = 0  # `supervise` reaps it
    return child.pid


def _environment(spec: NodeSpec) -> dict[str, str]:
    """Returns the environment of the programs: PATH and library paths include Debian's packages."""
    folders = [str(spec.packages / folder) for folder in ("usr/sbin", "usr/bin")]
    tools = {str(path.parent) for path in spec.tools.values()}
    libraries = sorted(str(path) for path in (spec.packages / "usr" / "lib").glob("*-linux-gnu"))
    own = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    return {
        **os.environ,
        "PATH": ":".join([str(spec.settings / "bin"), *sorted(tools), *own, *folders]),
        "XTABLES_LIBDIR": ":".join(f"{library}/xtables" for library in libraries),
        "LD_LIBRARY_PATH": ":".join(libraries),
    }


def _has_interface(name: str) -> bool:
    # /sys shows the machine's interfaces: it is not mounted again in the node's namespaces
    return subprocess.run(["ip", "link", "show", name], capture_output=True).returncode == 0


def _end(_signal: int, _frame: object) -> None:
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
