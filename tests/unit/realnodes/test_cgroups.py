"""Control groups of a node, in folders that look like the kernel's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.realnodes import cgroups

GROUP = "muster-mine-node"


def v1(root: Path) -> Path:
    for name in (*cgroups.V1_CONTROLLERS, "unified"):
        (root / name).mkdir()
    for name in ("cpuset.cpus", "cpuset.mems"):
        (root / "cpuset" / name).write_text("0-1\n")
    return root


def v2(root: Path) -> Path:
    (root / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    return root


def test_v1_has_a_group_in_every_hierarchy(tmp_path: Path) -> None:
    root = v1(tmp_path)
    cgroups.create(GROUP, root)
    assert all((root / name / GROUP).is_dir() for name in cgroups.V1_CONTROLLERS)
    assert not (root / "unified" / GROUP).exists()


def test_v2_has_one_group(tmp_path: Path) -> None:
    root = v2(tmp_path)
    cgroups.create(GROUP, root)
    assert [path.name for path in root.iterdir() if path.is_dir()] == [GROUP]


@pytest.mark.parametrize("layout", [v1, v2], ids=["v1", "v2"])
def test_a_group_is_removed_with_the_groups_below_it_and_no_other(
    layout: Callable[[Path], Path], tmp_path: Path
) -> None:
    root = layout(tmp_path)
    for name in (GROUP, "muster-mine-other", "muster-theirs-node"):
        cgroups.create(name, root)
    for hierarchy in cgroups.hierarchies(root):
        (hierarchy / GROUP / "kubepods" / "pod1").mkdir(parents=True)
    if layout is v1:
        (root / "unified" / GROUP).mkdir()  # runc's, beside the hierarchies of v1
    cgroups.remove(GROUP, root)
    assert cgroups.names("muster-", root) == {"muster-mine-other", "muster-theirs-node"}
    assert cgroups.names("muster-mine-", root) == {"muster-mine-other"}
