"""Parses Slurm's values: trackable resources (TRES), durations, array jobs."""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from muster.admission import quantities
from muster.forecast.traces.rows import RowError
from muster.forecast.traces.values import SECOND, TIME_MAX_MS, amount, count, shown

GPU_TRES = "gres/gpu"
GPU = "nvidia.com/gpu"
ARRAY_TASKS_MAX = 100_000  # per line; Slurm's default MaxArraySize is 1,001

_DURATION = re.compile(
    r"(?:(?P<days>\d{1,6})-)?(?:(?P<hours>\d{1,6}):)?(?P<minutes>\d{1,6}):(?P<seconds>\d{1,2})"
)
_SOCKETS = re.compile(r"\([^)]*\)")
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?(?::(\d{1,7}))?")
_MEMORY = re.compile(r"([0-9.]+)([KMGTP]?)[nc]?", re.IGNORECASE)


def parse_tres(text: str) -> tuple[dict[str, Fraction], int]:
    """Returns the total resources of a job by Kubernetes' names, and its number of nodes (0 if unknown), from
    a text such as `cpu=8,mem=64G,node=2,gres/gpu=16`. GPUs by model are summed."""
    totals: dict[str, Fraction] = {}
    models = Fraction(0)
    nodes = 0
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        if not equals:
            raise RowError(f"TRES {shown(item)}: expected name=value, such as cpu=8")
        if name == "cpu":
            totals[quantities.CPU] = amount("cpu", value)
        elif name == "mem":
            totals["memory"] = memory(value)
        elif name == "node":
            nodes = count("node", value)
        elif name == GPU_TRES:
            totals[GPU] = amount(GPU_TRES, value)
        elif name.startswith(f"{GPU_TRES}:"):
            models += amount(name, value)
    if models and GPU not in totals:
        totals[GPU] = models
    return totals, nodes


def parse_gres(text: str) -> Fraction:
    """Returns the GPUs of AllocGRES, the total of all nodes, such as `gpu:a100:4(S:0-1),nvme:1`."""
    gpus = Fraction(0)
    for item in filter(None, _SOCKETS.sub("", text).split(",")):
        name, *details = item.strip().split(":")
        if name == "gpu":
            gpus += amount("gpu", details[-1] if details else "1")
    return gpus


def memory(text: str) -> Fraction:
    """Returns bytes. Slurm's K, M, G are powers of 1,024; a number without a suffix is in MiB."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise RowError(f"mem is {shown(text)}: expected an amount such as 64G")
    return amount("mem", match[1], f"{match[2].upper() or 'M'}i")


@lru_cache(maxsize=10_000)
def time_limit_ms(text: str) -> int | None:
    """Returns `[days-][hours:]minutes:seconds` in milliseconds; None if the job has no time limit."""
    if text in ("", "UNLIMITED", "Partition_Limit", "INVALID", "None", "Unknown"):
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise RowError(f"Timelimit is {shown(text)}: expected [days-]hours:minutes:seconds")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return min((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND, TIME_MAX_MS)


def tasks(job_id: str) -> list[str]:
    """Returns the jobs of one line: the job itself, or each pending task of an array, such as
    `123_[1-3,7%2]`."""
    array, bracket, listing = job_id.partition("_[")
    if not bracket:
        return [job_id]
    listed, closed, _ = listing.partition("]")
    if not closed or "..." in listed:
        raise RowError(f"JobID {shown(job_id)}: the list of tasks is cut off; run sacct with --array")
    return [f"{array}_{task}" for task in _task_numbers(job_id, listed.partition("%")[0])]


def _task_numbers(job_id: str, listed: str) -> Iterator[int]:
    number = 0
    for item in listed.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise RowError(f"JobID {shown(job_id)}: expected tasks such as 123_[1-3,7]")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        for task in range(first, last + 1, step or 1):
            number += 1
            if number > ARRAY_TASKS_MAX:
                raise RowError(f"JobID {shown(job_id)}: more than {ARRAY_TASKS_MAX:,} tasks")
            yield task
