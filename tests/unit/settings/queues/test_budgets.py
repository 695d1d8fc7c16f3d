"""Budgets in a stack: as the core reads them, and invalid ones."""

from typing import Any

import msgspec
import pytest

from muster import admission as core
from muster.objects import kueue_queues
from muster.translation import snapshot
from settings.load import parse
from settings.manifests.objects import manifests
from tests.unit.settings.builders import FILE, TEAM_A, Case, put, refusal

GPU = "nvidia.com/gpu"
DAY_MS = 24 * core.HOUR_MS


def budget(**fields: Any) -> dict[str, Any]:
    return {"resource": GPU, "hours": 100, "period": "month"} | fields


BUDGETS: dict[str, tuple[dict[str, Any], core.Budget]] = {
    "month": (budget(), core.Budget(GPU, 100 * core.HOUR_MS, None)),
    "day": (budget(period="day"), core.Budget(GPU, 100 * core.HOUR_MS, DAY_MS)),
    "week from Monday": (
        budget(period="week"),
        core.Budget(GPU, 100 * core.HOUR_MS, 7 * DAY_MS, anchor_ms=4 * DAY_MS),
    ),
    "rolling": (
        budget(period="rolling", days=30),
        core.Budget(GPU, 100 * core.HOUR_MS, 30 * DAY_MS, rolling=True),
    ),
    "flavor": (budget(flavor="l4"), core.Budget(GPU, 100 * core.HOUR_MS, None, flavor="l4")),
    "carried over": (budget(carryOver=True), core.Budget(GPU, 100 * core.HOUR_MS, None, carries_over=True)),
    "warning": (
        budget(enforcement="warn"),
        core.Budget(GPU, 100 * core.HOUR_MS, None, enforcement=core.Enforcement.WARN),
    ),
    "soft": (
        budget(enforcement="soft"),
        core.Budget(GPU, 100 * core.HOUR_MS, None, enforcement=core.Enforcement.SOFT),
    ),
    "cores": (budget(resource="cpu"), core.Budget("cpu", 100_000 * core.HOUR_MS, None)),
}


@pytest.mark.parametrize(("declared", "expected"), BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("section", ["clusterQueues", "cohorts"])
def test_core_reads_the_budgets_of_a_stack(
    declared: dict[str, Any], expected: core.Budget, section: str
) -> None:
    settings = parse(put("muster:queues", section, 0, "budgets", [declared]), FILE)
    owners: tuple[core.ClusterQueue | core.Cohort, ...] = tuple(
        snapshot.cluster_queue(msgspec.convert(manifest, kueue_queues.ClusterQueue))
        if manifest["kind"] == "ClusterQueue"
        else snapshot.cohort(msgspec.convert(manifest, kueue_queues.Cohort))
        for manifest in manifests(settings)
        if manifest["kind"] in ("ClusterQueue", "Cohort")
    )
    assert [owner.budgets for owner in owners if owner.budgets] == [(expected,)]


def _refused(**fields: Any) -> dict[str, Any]:
    return put(*TEAM_A, "budgets", [budget(**fields)])


AT = "muster:queues.clusterQueues[0].budgets[0]"
CASES = [
    Case(
        "engine kueue",
        {**_refused(), "muster:admission": {"engine": "kueue"}},
        AT,
        '{"resource": "nvidia.com/gpu", "hours": 100, "period": "month"}',
        "no budget: engine kueue keeps no usage over time",
        "remove it, or choose engine: muster",
    ),
    Case(
        "a resource without quota",
        _refused(resource="google.com/tpu"),
        f"{AT}.resource",
        '"google.com/tpu"',
        "a resource with quota in this file",
        "choose one of cpu, memory, nvidia.com/gpu",
    ),
    Case(
        "a flavor without pool",
        _refused(flavor="l5"),
        f"{AT}.flavor",
        '"l5"',
        "the flavor of a pool in this file",
        "choose one of cpu, l4",
    ),
    Case(
        "a rolling period without days",
        _refused(period="rolling"),
        AT,
        '{"resource": "nvidia.com/gpu", "hours": 100, "period": "rolling"}',
        "`days`, the length of the rolling period",
        "add `days`, such as 30",
    ),
    Case(
        "days of a month",
        _refused(days=30),
        AT,
        '{"resource": "nvidia.com/gpu", "hours": 100, "period": "month", "days": 30}',
        "no `days`: a month has a fixed length",
        "remove `days`, or write `period: rolling`",
    ),
    Case(
        "a rolling period that carries over",
        _refused(period="rolling", days=7, carryOver=True),
        AT,
        '{"resource": "nvidia.com/gpu", "hours": 100, "period": "rolling", "days": 7, "carryOver": true}',
        "no `carryOver`: a rolling period has no previous one",
        "remove `carryOver`",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_budgets_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


INVALID: dict[str, str] = {
    "no JSON": "lots",
    "no budget": "[{}]",
    "an unknown key": '[{"resource":"cpu","hours":1,"period":"day","colour":"red"}]',
    "no quantity": '[{"resource":"cpu","hours":"many","period":"day"}]',
    "days of a day": '[{"resource":"cpu","hours":1,"period":"day","days":2}]',
    "a rolling period of no days": '[{"resource":"cpu","hours":1,"period":"rolling"}]',
    "a rolling period that carries over": (
        '[{"resource":"cpu","hours":1,"period":"rolling","days":2,"carryOver":true}]'
    ),
}


@pytest.mark.parametrize("annotation", INVALID.values(), ids=INVALID)
def test_queue_with_an_unreadable_budget_admits_nothing(annotation: str) -> None:
    body = {"metadata": {"name": "q", "annotations": {"muster.dev/budgets": annotation}}, "spec": {}}
    queue = snapshot.readable_cluster_queue(msgspec.convert(body, kueue_queues.ClusterQueue))
    assert queue.problem.startswith("annotation muster.dev/budgets: ")
