"""The controller's configuration: the fields of Kueue's (apis/config/v1beta2) that Muster reads, as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import msgspec

from muster.admission import Aging, FairSharing, FairStrategy, Rules
from muster.admission.lifecycle import Backoff, WaitForPodsReady
from muster.configuration.durations import seconds
from muster.configuration.feature_gates import CLEANUP, with_gates
from muster.objects.meta import View

NOTICE_MS = 30_000
NOTICE_S_MAX = 3600

_BACKOFF = Backoff()


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of finished Workloads and deactivated jobs in seconds; None: unlimited."""

    after_finished_s: int | None = None
    after_deactivated_s: int | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parsed configuration. `wait_for_pods_ready` is None if gangs may take any time to start."""

    rules: Rules = field(default_factory=Rules)
    wait_for_pods_ready: WaitForPodsReady | None = None
    retention: Retention = Retention()
    cleans_up_requests: bool = True  # ProvisioningRequests, on eviction
    # Between the preemption of surplus of an elastic gang and the limit by which it is removed.
    notice_ms: int = NOTICE_MS

    @property
    def backoff(self) -> Backoff:
        """The back-off after evictions due to pods that were not ready; the default without
        waitForPodsReady."""
        return self.wait_for_pods_ready.backoff if self.wait_for_pods_ready else _BACKOFF


DEFAULT = Configuration()


class _Requeuing(View, forbid_unknown_fields=True):
    timestamp: str = "Eviction"  # Eviction | Creation
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600


class _WaitForPodsReady(View, forbid_unknown_fields=True):
    timeout: str = "30m"
    recovery_timeout: str | None = None
    block_admission: bool = False
    requeuing_strategy: _Requeuing = _Requeuing()


class _FairSharing(View, forbid_unknown_fields=True):
    preemption_strategies: tuple[FairStrategy, ...] = FairSharing().strategies


class _WorkloadRetention(View, forbid_unknown_fields=True):
    after_finished: str | None = None
    after_deactivated_by_kueue: str | None = None


class _ObjectRetention(View, forbid_unknown_fields=True):
    workloads: _WorkloadRetention = _WorkloadRetention()


class _Aging(View, forbid_unknown_fields=True):
    step: int
    period: str
    max: int


class _Rules(View, forbid_unknown_fields=True):
    """Muster's additional rules, which are off by default."""

    immediate_unparking: bool = False
    backfill: bool = False
    minimum_run_time: str = "0s"
    aging: _Aging | None = None


class _Elastic(View, forbid_unknown_fields=True):
    notice: str = f"{NOTICE_MS // 1000}s"


class _File(View, forbid_unknown_fields=True):
    wait_for_pods_ready: _WaitForPodsReady | None = None
    fair_sharing: _FairSharing | None = None
    object_retention_policies: _ObjectRetention = _ObjectRetention()
    feature_gates: dict[str, bool] = {}
    rules: _Rules = _Rules()
    elastic: _Elastic = _Elastic()


def parse(text: str) -> Configuration:
    """Parses the file; `{}` means the defaults. Raises: ValueError that names the field and the error."""
    return _configuration(msgspec.json.decode(text, type=_File))


def from_fields(fields: Mapping[str, Any]) -> Configuration:
    """Returns the configuration of a file with these fields. Raises: ValueError as `parse`."""
    return _configuration(msgspec.convert(fields, _File))


def _configuration(file: _File) -> Configuration:
    sharing, wait = file.fair_sharing, file.wait_for_pods_ready
    rules = replace(
        _additional_rules(file.rules),
        fair_sharing=FairSharing(sharing.preemption_strategies) if sharing else None,
    )
    rules = with_gates(rules, file.feature_gates)
    retention = _retention(file.object_retention_policies.workloads)
    cleans_up = file.feature_gates.get(CLEANUP, True)
    notice_ms = _notice_ms(file.elastic)
    if wait is None:
        return Configuration(rules, retention=retention, cleans_up_requests=cleans_up, notice_ms=notice_ms)
    requeuing = wait.requeuing_strategy
    if requeuing.timestamp not in ("Eviction", "Creation"):
        raise ValueError(
            f"waitForPodsReady.requeuingStrategy.timestamp is {requeuing.timestamp!r}; expected Eviction "
            "or Creation"
        )
    timeout_s = _seconds("waitForPodsReady.timeout", wait.timeout)
    recovery_s = timeout_s
    if wait.recovery_timeout is not None:
        recovery_s = _seconds("waitForPodsReady.recoveryTimeout", wait.recovery_timeout)
    return Configuration(
        rules=replace(rules, requeue_behind_others=requeuing.timestamp == "Eviction"),
        wait_for_pods_ready=WaitForPodsReady(
            timeout_s=timeout_s,
            recovery_timeout_s=recovery_s or None,
            block_admission=wait.block_admission,
            backoff=Backoff(requeuing.backoff_base_seconds, requeuing.backoff_max_seconds),
            retries_max=requeuing.backoff_limit_count,
        ),
        retention=retention,
        cleans_up_requests=cleans_up,
        notice_ms=notice_ms,
    )


def _retention(workloads: _WorkloadRetention) -> Retention:
    path = "objectRetentionPolicies.workloads"
    finished, deactivated = workloads.after_finished, workloads.after_deactivated_by_kueue
    return Retention(
        None if finished is None else _seconds(f"{path}.afterFinished", finished),
        None if deactivated is None else _seconds(f"{path}.afterDeactivatedByKueue", deactivated),
    )


def _additional_rules(rules: _Rules) -> Rules:
    aging = None
    if rules.aging is not None:
        period_s = _seconds("rules.aging.period", rules.aging.period)
        if min(rules.aging.step, period_s, rules.aging.max) < 1:
            raise ValueError("rules.aging: step and max must be at least 1, and period at least 1s")
        aging = Aging(rules.aging.step, period_s * 1000, rules.aging.max)
    return Rules(
        immediate_unparking=rules.immediate_unparking,
        backfill=rules.backfill,
        run_time_ms_min=_seconds("rules.minimumRunTime", rules.minimum_run_time) * 1000,
        aging=aging,
    )


def _notice_ms(elastic: _Elastic) -> int:
    notice_s = _seconds("elastic.notice", elastic.notice)
    if notice_s > NOTICE_S_MAX:
        raise ValueError(f"elastic.notice is {elastic.notice!r}; expected at most {NOTICE_S_MAX}s")
    return notice_s * 1000


def _seconds(name: str, text: str) -> int:
    """Parses a duration in Go's format, such as 300s or 1h30m, and rounds up to whole seconds."""
    if (exact := seconds(text)) is None:
        raise ValueError(f"{name} is {text!r}; expected a duration such as 300s, 30m or 1h30m")
    return ceil(exact)
