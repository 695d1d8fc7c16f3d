"""The sandbox's network: a bridge in a network namespace, with the machine and the nodes on it.

The namespace ends with its process, and the machine's interface with the namespace.
"""

import signal
import sys

from sandbox.realnodes.addresses import Addresses
from sandbox.realnodes.namespaces import enter_network, run

BRIDGE = "nodes"
MACHINE = "machine"
READY = "ready"


def run_switch(addresses: Addresses) -> None:
    """Creates the bridge in this process's namespaces, which exist until the process is killed."""
    for command in (
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"address add {addresses.gateway}/24 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ):
        run("ip", *command.split())
    with open("/proc/sys/net/ipv4/ip_forward", "w") as forwarding:  # between nodes and the machine
        forwarding.write("1\n")
    print(READY, flush=True)
    signal.pause()


def connect_machine(switch_pid: int, addresses: Addresses) -> None:
    """Adds the machine's interface, and its routes to nodes and pods. Raises StepError."""
    name = addresses.interface
    run("ip", "link", "add", name, "type", "veth", "peer", "name", MACHINE, "netns", str(switch_pid))
    run("ip", "address", "add", f"{addresses.machine}/24", "dev", name)
    run("ip", "link", "set", name, "up")
    run("ip", "route", "add", addresses.pods, "via", addresses.gateway)
    in_switch(switch_pid, "link", "set", MACHINE, "master", BRIDGE, "up")


def connect_node(switch_pid: int, node_pid: int, number: int, addresses: Addresses) -> None:
    """Moves an interface into the node, and adds a route to its pods. Raises StepError."""
    port = f"node{number}"
    in_switch(switch_pid, "link", "add", port, "type", "veth", "peer", "name", "up0", "netns", str(node_pid))
    in_switch(switch_pid, "link", "set", port, "master", BRIDGE, "up")
    in_switch(switch_pid, "route", "replace", addresses.node_pods(number), "via", addresses.node(number))


def in_switch(switch_pid: int, *arguments: str) -> None:
    """Runs `ip` in the switch's namespace. Raises StepError."""
    run(*enter_network(switch_pid), "ip", *arguments)


if __name__ == "__main__":
    run_switch(Addresses(int(sys.argv[1])))
