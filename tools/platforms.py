"""Names of platforms, and the features that work on them."""

import platform
from dataclasses import dataclass

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS = {"Darwin": "macOS"}


def platform_name(system: str, machine: str) -> str:
    """Returns the name that release files use, such as `linux-amd64`, for the values of Python's module
    `platform`."""
    return f"{system.lower()}-{_MACHINES.get(machine.lower(), machine.lower())}"


@dataclass(frozen=True)
class Support:
    """A platform: whether `make up` runs on it, and a note on what works; empty if everything is tested."""

    sandbox: bool
    note: str = ""


def support(system: str, machine: str) -> Support:
    """Returns the features that work on a platform, for the values of Python's module `platform`.

    Facts of 2026-11-25: the packages of all tools resolve for linux/arm64 without cgo, and etcd was
    cross-compiled; the locked Python packages, Go and Ray have wheels for Linux and macOS on arm64. On macOS
    with x86-64, cryptography has none.
    """
    name = platform_name(system, machine)
    if name == "linux-amd64":
        return Support(sandbox=True)
    without_sandbox = "make forecast, make plan and make preview need no sandbox"
    if name == "linux-arm64":
        return Support(
            sandbox=True,
            note="Linux on arm64 is not tested. Its tools and Python packages exist, also for RAY=real; "
            "tools without a pinned checksum for it are built. The browser tests do not run. "
            f"{without_sandbox}.",
        )
    if system == "Linux":
        return Support(
            sandbox=True,
            note=f"Linux on {machine} is not tested: all tools are built, and Python packages without wheels "
            f"need compilers. {without_sandbox}.",
        )
    return Support(
        sandbox=False,
        note=f"make up runs on Linux only, not on {_SYSTEMS.get(system, system)}. {without_sandbox}; "
        "they are not tested here either.",
    )


def this_platform() -> str:
    """Returns the name of the platform of this machine."""
    return platform_name(platform.system(), platform.machine())
