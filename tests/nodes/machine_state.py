"""Facts about the machine that a sandbox with real nodes must leave as they were."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from sandbox.realnodes import cgroups
from sandbox.realnodes.cluster import control_group
from tools.toolchain.paths import RunState

SYSCTLS = Path("/proc/sys")
VOLATILE = (
    "fs/dentry-state",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/inode-state",
    "fs/quota/",
    "kernel/ns_last_pid",
    "kernel/pty/nr",
    "kernel/random/",
    "net/netfilter/nf_conntrack_count",
)
"""Sysctls that the kernel changes by itself."""
FOLDERS = ("/var/lib", "/var/log", "/run", "/opt", "/etc")
"""Folders in which a node's programs keep files."""


def machine_state(state: RunState) -> dict[str, set[str]]:
    """Returns what this sandbox could leave on the machine, by kind."""
    links = _output("ip", "-oneline", "link")
    mounts = Path("/proc/self/mounts").read_text()
    return {
        "interfaces": {line.split(":")[1].strip() for line in links},
        "routes": {*_output("ip", "route", "show", "table", "all")},
        "network namespaces": {*_output("ip", "netns", "list")},
        "mounts": {line.split()[1] for line in mounts.splitlines()},
        "control groups": cgroups.names(control_group(state, "")),
        "sysctls": {*_sysctls()},
        "folders": {str(path) for folder in FOLDERS for path in Path(folder).iterdir()},
    }


def differences(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, list[str]]:
    """Returns what was added (+) and removed or changed (-), by kind; empty if nothing changed.

    Further sysctls are no difference: the kernel has them permanently once it has loaded a module.
    """
    lines = {
        kind: [
            *(f"+ {item}" for item in sorted(after[kind] - before[kind]) if kind != "sysctls"),
            *(f"- {item}" for item in sorted(before[kind] - after[kind])),
        ]
        for kind in before
    }
    return {kind: changed for kind, changed in lines.items() if changed}


def processes_of(state: RunState) -> list[str]:
    """Returns the processes whose command line or environment names the sandbox's folder."""
    folder, lines = str(state.root), []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
            if any(folder in word for word in words):
                lines.append(f"{process.pid} {' '.join(process.cmdline())}")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return lines


def _sysctls() -> Iterator[str]:
    for path in SYSCTLS.rglob("*"):
        name = str(path.relative_to(SYSCTLS))
        if path.is_file() and not name.startswith(VOLATILE):
            try:
                yield f"{name}={path.read_text().strip()}"
            except (OSError, UnicodeDecodeError):  # write-only, or not supported
                continue


def _output(*argv: str) -> list[str]:
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.strip() for line in lines]
