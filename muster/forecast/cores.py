"""The cores for simulations in parallel, and processes on them."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from muster.forecast import pickling


def usable_cores() -> int:
    """Returns how many cores this process may use: on Linux those of its affinity, on macOS all."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def worker_processes(
    workers: int, initializer: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """Returns a pool of forked processes, which inherit large inputs instead of receiving them. Each calls
    `initializer` with the arguments first."""
    pickling.register()
    return ProcessPoolExecutor(workers, get_context("fork"), initializer, arguments)
