"""Names of platforms, and what works on them."""

import platform

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def platform_name(system: str, machine: str) -> str:
    """Returns the name that release files use, such as `linux-amd64`, for the values of Python's module
    `platform`."""
    return f"{system.lower()}-{_MACHINES.get(machine.lower(), machine.lower())}"


def this_platform() -> str:
    """Returns the name of the platform of this machine."""
    return platform_name(platform.system(), platform.machine())
