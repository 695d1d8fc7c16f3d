"""A real node as data, which the processes that create it read from a file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sandbox.realnodes.addresses import Addresses


@dataclass(frozen=True)
class NodeSpec:
    """A node.

    number: counted from 0. folder: its files on the machine; a node of the same name starts from them again.
    network_pid: a process in the network namespace of the sandbox's switch. control_group: the parent of
    its pods' groups. tools, packages: the executables by name, and the root of the unpacked Debian
    packages. labels, taints: as in the Kubernetes API.
    """

    name: str
    number: int
    folder: Path
    logs: Path
    addresses: Addresses
    network_pid: int
    control_group: str
    tools: Mapping[str, Path]
    packages: Path
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]

    @property
    def address(self) -> str:
        """Address of the node in the sandbox's network."""
        return self.addresses.node(self.number)

    @property
    def settings(self) -> Path:
        """The folder with the settings of the node's programs."""
        return self.folder / "settings"

    @property
    def network_policies(self) -> Path:
        """The folder with the identity of the program that enforces NetworkPolicies."""
        return self.settings / "network-policies"

    def write(self, path: Path) -> None:
        """Writes the node to a file."""
        path.write_text(json.dumps(asdict(self), indent=2, default=str) + "\n")


def read_spec(path: Path) -> NodeSpec:
    """Reads a file written by `NodeSpec.write`."""
    content: dict[str, Any] = json.loads(path.read_text())
    content |= {name: Path(content[name]) for name in ("folder", "logs", "packages")}
    content["tools"] = {name: Path(tool) for name, tool in content["tools"].items()}
    content["addresses"] = Addresses(**content["addresses"])
    return NodeSpec(**content)
