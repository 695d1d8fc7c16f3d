"""Assumptions about everything that a queue configuration does not define, each with its source."""

from dataclasses import dataclass, field, fields
from math import inf, isfinite
from typing import Any


def _assumed(default: float, unit: str, meaning: str, source: str) -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning, "source": source})


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The assumptions of a simulation; times are in seconds. `reference` describes the fields."""

    start_up_s: float = _assumed(
        30,
        "s",
        "from admission until the gang runs: scheduling, image pull, Ray's start",
        "set from your own pods' Ready times",
    )
    termination_s: float = _assumed(
        5,
        "s",
        "from a preemption until the preempted pods have terminated and their quota is released",
        "KubeRay suspends within seconds; a pod may take its grace period of 30 s",
    )
    unmet_demand: float = _assumed(
        0,
        "share",
        "workers up to its maximum that an autoscaled job asks for beyond its record while the record has no "
        "free quota; 0: recorded demand",
        "Ray's autoscaler asks for no worker beyond its limit, so a record has no larger demand",
    )
    notice_s: float = _assumed(
        30,
        "s",
        "notice to workers of an autoscaled job that are preempted while the job continues",
        "muster:admission.elastic.noticeSeconds",
    )
    cleanup_s: float = _assumed(
        2,
        "s",
        "from the end of a job until its pods have terminated",
        "KubeRay deletes the RayCluster of a finished RayJob immediately",
    )
    checkpoint_interval_s: float = _assumed(
        0,
        "s",
        "time between checkpoints; 0: a preempted or failed job starts over",
        "Young (1974): sqrt(2 * cost of a checkpoint * mean time between failures)",
    )
    restart_s: float = _assumed(
        0, "s", "work repeated when a job starts from a checkpoint", "set from your own jobs"
    )
    provisioning_median_s: float = _assumed(
        300,
        "s",
        "median delay until a ProvisioningRequest is Provisioned",
        "GKE publishes no distribution: set from muster_admission_checks_wait_time_seconds",
    )
    provisioning_spread: float = _assumed(
        1.0,
        "sigma of the logarithm",
        "spread of that delay (lognormal); 0: always the median",
        "queueing delays of clouds are skewed; set from your own cluster",
    )
    stock_out_probability: float = _assumed(
        0.0,
        "share",
        "ProvisioningRequests that fail because the zone has no capacity",
        "set from the retries of your own requests",
    )
    stock_out_after_s: float = _assumed(
        600, "s", "time until such a request fails", "the cluster autoscaler's default retry interval"
    )
    scale_up_s: float = _assumed(
        120,
        "s",
        "time until nodes that the cluster autoscaler adds to pools without queued provisioning are ready",
        "start of a GPU VM and installation of its driver: set from your own nodes",
    )
    scale_down_s: float = _assumed(
        600,
        "s",
        "time until the cluster autoscaler removes an unneeded node",
        "the cluster autoscaler's default, scale-down-unneeded-time",
    )
    admission_s: float = _assumed(
        0,
        "s",
        "time that the engine takes to write one admission or preemption",
        "inverse of the admissions per second in docs/performance.md; relevant to bursts of short jobs",
    )
    requeue_s: float = _assumed(
        0,
        "s",
        "from a release of quota until inadmissible workloads are tried again",
        "Muster: immediately; Kueue: 1 s (requeueBatchPeriod), during which new arrivals may be tried first",
    )
    limit_share: float = _assumed(
        0.0,
        "share",
        "in estimates of starts: the share of its declared limit that a job runs; 0: learned from past jobs",
        "a limit is an upper bound: past jobs show how much of it jobs use",
    )
    failures_per_node_hour: float = _assumed(
        0.0,
        "per hour",
        "failures of a pod that stop its gang",
        "Meta, Llama 3 (2024): 419 unexpected interruptions of 16,384 GPUs in 54 days, 2e-5 a GPU-hour",
    )
    spot_interruptions_per_node_hour: float = _assumed(
        0.0,
        "per hour",
        "reclaimed nodes of spot pools, each of which stops its gang; in addition to failures",
        "Google Cloud publishes no rate: set from the preemptions of your own nodes",
    )


def reference() -> list[tuple[str, str, str, str]]:
    """Returns name, default with its unit, meaning and source of each assumption."""
    return [
        (f.name, f"{f.default:g} {f.metadata['unit']}", f.metadata["meaning"], f.metadata["source"])
        for f in fields(Assumptions)
    ]


_BOUNDS = {
    "stock_out_probability": (0.0, 1.0, "from 0 to 1"),
    "limit_share": (0.0, 1.0, "from 0 to 1"),
    "unmet_demand": (0.0, 1.0, "from 0 to 1"),
    # Without a delay, gangs that preempt each other in turn would do so thousands of times a second.
    "termination_s": (1.0, inf, "1 or more, as no pod terminates sooner"),
}
_NOT_NEGATIVE = (0.0, inf, "0 or more")


def check(assumptions: Assumptions) -> None:
    """Raises: ValueError with the field and the expected range for a value out of range."""
    for assumption in fields(assumptions):
        value = getattr(assumptions, assumption.name)
        least, most, expected = _BOUNDS.get(assumption.name, _NOT_NEGATIVE)
        if not (isfinite(value) and least <= value <= most):
            raise ValueError(f"{assumption.name} is {value:g}; expected {expected}")
