"""The parent control groups of a node's pods, in cgroup v1 and v2."""

import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
V1_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
"""Hierarchies that must contain the kubelet's root control group."""
END_SECONDS_MAX = 10.0
CPU_SHARES = 4096
"""Four times a process group's share: a busy machine must not starve the pods, which share one group."""


def is_v2(root: Path = ROOT) -> bool:
    """Returns whether the machine has the unified hierarchy, with controllers."""
    return (root / "cgroup.controllers").exists()


def hierarchies(root: Path = ROOT) -> list[Path]:
    """Returns the folders below which a group is created: one per controller in v1, one in v2."""
    if is_v2(root):
        return [root]
    mounted = [root / name for name in V1_CONTROLLERS if (root / name).is_dir()]
    return sorted({path.resolve() for path in mounted})  # cpu and cpuacct may be links to one hierarchy


def create(name: str, root: Path = ROOT) -> None:
    """Creates the group in every hierarchy."""
    for hierarchy in hierarchies(root):
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # v1: empty in a new group, which then runs nothing
            if not is_v2(root) and (group / file).exists():
                (group / file).write_text((hierarchy / file).read_text())
        shares, weight = group / "cpu.shares", group / "cpu.weight"
        if shares.exists():
            shares.write_text(str(CPU_SHARES))
        elif weight.exists():
            weight.write_text("400")


def names(prefix: str, root: Path = ROOT) -> set[str]:
    """Returns the names of groups that begin with `prefix`, in any hierarchy."""
    groups = (group for hierarchy in _all(root) for group in hierarchy.glob(f"{prefix}*"))
    return {group.name for group in groups if group.is_dir()}


def remove(name: str, root: Path = ROOT) -> None:
    """Removes the group and the groups below it, whose processes must have ended."""
    for hierarchy in _all(root):
        group = hierarchy / name
        if group.is_dir():
            folders = [path for path in group.rglob("*") if path.is_dir()]
            for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
                folder.rmdir()
            group.rmdir()


def remove_when_empty(name: str, root: Path = ROOT) -> None:
    """Removes a group; the kernel may need a moment to end the last processes in it. Raises OSError."""
    deadline = time.monotonic() + END_SECONDS_MAX
    while True:
        try:
            return remove(name, root)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _all(root: Path) -> list[Path]:
    """Returns every hierarchy: runc also uses the unified hierarchy next to v1."""
    return [root] if is_v2(root) else sorted({path.resolve() for path in root.iterdir() if path.is_dir()})
