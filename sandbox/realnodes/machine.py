"""Requirements of real nodes on the machine, checked before anything is built."""

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sandbox.realnodes.cgroups import ROOT, V1_CONTROLLERS, is_v2
from sandbox.realnodes.namespaces import UNSHARE

COMMANDS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
"""Commands, and the Debian packages that contain them."""
_PROBE = "ip link add probe0 type veth peer name probe1 && ip link add probe2 type bridge"


def missing() -> str | None:
    """Returns why this machine cannot run real nodes, in a sentence with the remedy; None if it can."""
    if platform.system() != "Linux":
        return "real nodes need Linux"
    if os.geteuid() != 0:
        return "real nodes need root, for namespaces, mounts and control groups: run make as root"
    if absent := [name for name in COMMANDS if shutil.which(name) is None]:
        packages = sorted({COMMANDS[name] for name in absent})
        return f"missing commands: {', '.join(absent)}; apt-get install --yes {' '.join(packages)}"
    return _kernel()


def _kernel() -> str | None:
    """Returns what the kernel, or the container of this process, does not allow."""
    if "\toverlay\n" not in Path("/proc/filesystems").read_text():
        return "the kernel has no overlay file system (CONFIG_OVERLAY_FS)"
    if not is_v2() and (absent := [name for name in V1_CONTROLLERS if not (ROOT / name).is_dir()]):
        return f"control groups v1 without {', '.join(absent)} in {ROOT}"
    if not Path("/proc/sys/net/bridge").is_dir():
        return "the kernel shows no packets of bridges to iptables: modprobe br_netfilter"
    if not os.access(ROOT, os.W_OK):
        return f"{ROOT} is read-only"
    return _failure([*UNSHARE, "sh", "-c", _PROBE])


def _failure(argv: Sequence[str]) -> str | None:
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    (*_, error) = result.stderr.strip().splitlines() or [argv[0]]
    return f"the kernel refuses namespaces with a bridge and veth interfaces: {error}"
