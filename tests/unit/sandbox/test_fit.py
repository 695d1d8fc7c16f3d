"""Scenarios fitted to the quotas of a stack: the workers of each job, and the message if none fit."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from sandbox.scenario import EXAMPLES
from sandbox.scenarios.elastic import ELASTIC
from sandbox.scenarios.fit import changes, fit, workers
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.runner import read_examples
from sandbox.scenarios.serving import serving
from sandbox.stack_file import SOURCE
from settings.load import Settings, parse
from tools.toolchain.steps import StepError

GPU = "nvidia.com/gpu"
LOCAL = yaml.safe_load(SOURCE.read_text())["config"]
SERVING = serving("muster")

Config = dict[str, Any]
Edit = Callable[[Config], None]


def team_a(config: Config) -> Config:
    queue: Config = config["muster:queues"]["clusterQueues"][0]
    return queue


def gpus(nominal: int, **bounds: int) -> Edit:
    """Sets the GPU quota of ClusterQueue team-a, without a loan unless `bounds` allows one."""

    def edit(config: Config) -> None:
        team_a(config)["quotas"]["l4"][GPU] = {"nominal": nominal, "borrowingLimit": 0, **bounds}
        del config["muster:tenants"][0]["resourceQuota"]

    return edit


def quota(flavor: str, **amounts: Any) -> Edit:
    return lambda config: team_a(config)["quotas"][flavor].update(amounts)


def nodes_max(count: int) -> Edit:
    return lambda config: config["muster:pools"][1]["nodes"].update(max=count)


def all_of(*edits: Edit) -> Edit:
    def edit(config: Config) -> None:
        for each in edits:
            each(config)

    return edit


def borrowing(config: Config) -> None:
    team_a(config)["quotas"]["l4"][GPU] = 4


def stack(edit: Edit) -> Settings:
    config = copy.deepcopy(LOCAL)
    edit(config)
    return parse(config, "Pulumi.local.yaml")


@pytest.mark.parametrize(
    ("edit", "scenario", "sizes"),
    [
        pytest.param(lambda _: None, JOBS, (4, 4), id="the repository's stack"),
        pytest.param(lambda _: None, SERVING, (4, 2), id="the repository's stack, serving"),
        pytest.param(gpus(6), JOBS, (4, 4), id="6 GPUs hold one job of 4"),
        pytest.param(gpus(6), SERVING, (5, 2), id="6 GPUs hold 4 and 2: training grows"),
        pytest.param(gpus(2), JOBS, (2, 2), id="2 GPUs: both shrink"),
        pytest.param(gpus(1), SERVING, (1, 1), id="1 GPU"),
        pytest.param(gpus(8), JOBS, (5, 4), id="8 GPUs hold 4 and 4: the first grows"),
        pytest.param(
            all_of(gpus(16), quota("l4", cpu=64, memory="256Gi")), JOBS, (10, 7), id="no more than 10 nodes"
        ),
        pytest.param(quota("l4", cpu=4), JOBS, (4, 2), id="the first borrows cpu, the second may not"),
        pytest.param(all_of(gpus(4), nodes_max(3)), JOBS, (3, 3), id="3 nodes"),
        pytest.param(borrowing, JOBS, (5, 4), id="a job of 5 borrows 1 of the cohort's other 4"),
        pytest.param(lambda _: None, ELASTIC, (20, 1), id="the repository's stack, elastic"),
        pytest.param(
            quota("cpu", cpu={"nominal": "2500m", "borrowingLimit": 0}), ELASTIC, (7, 1), id="2.5 CPUs"
        ),
    ],
)
def test_each_job_fits_alone_but_not_all_together(
    edit: Edit, scenario: Scenario, sizes: tuple[int, int]
) -> None:
    fitted = fit(scenario, read_examples(scenario, EXAMPLES), stack(edit), "")
    assert tuple(workers(manifest) for manifest in fitted.values()) == sizes


def remove_tenant(config: Config) -> None:
    del config["muster:tenants"][0]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        pytest.param(
            gpus(0),
            "scenario jobs needs 1 nvidia.com/gpu of flavor l4 in ClusterQueue team-a for the dev job; the "
            "stack has 0",
            id="no GPUs",
        ),
        pytest.param(quota("l4", cpu=1), "needs 2 cpu of flavor l4 in ClusterQueue team-a", id="cpu"),
        pytest.param(
            all_of(gpus(100), quota("l4", cpu=400, memory="1600Gi")),
            "needs two jobs that do not fit together: even 10 and 10 workers",
            id="a quota beyond the nodes",
        ),
        pytest.param(
            remove_tenant,
            "needs a tenant with namespace team-a and queue user-queue for its dev job",
            id="no tenant",
        ),
        pytest.param(
            lambda c: c["muster:admission"]["priorities"].update({"prod-priority": 1}),
            "needs priority prod-priority above dev-priority",
            id="priorities the other way round",
        ),
        pytest.param(
            lambda c: c["muster:tenants"][0].update(priorities=["dev-priority"]),
            "needs priority prod-priority for namespace team-a",
            id="a priority that the tenant may not use",
        ),
        pytest.param(
            lambda c: team_a(c)["preemption"].update(withinClusterQueue="Never"),
            "needs preemption.withinClusterQueue: LowerPriority in ClusterQueue team-a",
            id="no preemption",
        ),
        pytest.param(
            lambda c: team_a(c).update(stop="Hold"), "ClusterQueue team-a without stop: Hold", id="stopped"
        ),
    ],
)
def test_a_stack_that_is_too_small_is_reported_with_a_remedy(edit: Edit, message: str) -> None:
    with pytest.raises(StepError, match=r"^scenario jobs needs ") as refused:
        fit(JOBS, read_examples(JOBS, EXAMPLES), stack(edit), "make up SCENARIO=no")
    assert message in str(refused.value)
    assert refused.value.try_this == "make up SCENARIO=no"


def test_changed_sizes_are_reported_by_role() -> None:
    examples = read_examples(SERVING, EXAMPLES)
    fitted = fit(SERVING, examples, stack(gpus(6)), "")
    assert changes(examples, fitted) == ["the training job has 5 workers instead of 4"]
    assert changes(examples, examples) == []
