"""The cores for simulations in parallel."""

import os


def usable_cores() -> int:
    """Returns how many cores this process may use: on Linux those of its affinity, on macOS all."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
