"""The Linux namespaces of a node, and commands that work in them."""

import subprocess

from tools.toolchain.steps import StepError

UNSHARE = ("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--mount-proc")
"""The command that runs another command in new namespaces."""


def enter(pid: int) -> list[str]:
    """Returns the command that runs another command in the namespaces of a node's process."""
    return ["nsenter", f"--target={pid}", "--mount", "--pid", "--net", "--ipc", "--uts", "--"]


def enter_network(pid: int) -> list[str]:
    """Returns the command that runs another command in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--"]


def run(*argv: str) -> None:
    """Runs a command. Raises StepError with its error output if it fails."""
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode != 0:
        raise StepError(f"{' '.join(argv)}: {result.stderr.strip()}")
