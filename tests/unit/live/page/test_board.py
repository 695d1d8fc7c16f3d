"""The page's rows of queues, and details of queues and workloads."""

import json
from typing import Any

import pytest

from muster.kube import kinds
from muster.live.page.board import Board
from muster.objects.meta import rfc3339
from muster.objects.names import BUDGETS
from tests.simulation.manifests import cluster_queue, local_stack, quotas, ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, stored
from tests.unit.live.builders import running, waiting

GPU = "nvidia.com/gpu"
TRAIN, NEXT, OTHER = (ray_job(name) for name in ("train", "next", "other"))


def refreshed(board: Board, *workloads: Body) -> dict[str, Any]:
    """Returns the rows of the queues of stack `local` with these workloads."""
    return dict(board.refresh(make_cluster({kinds.WORKLOADS: workloads}), NOW_MS)["queues"])


def test_rows_have_quota_usage_and_demand_in_the_apis_units() -> None:
    rows = refreshed(Board(), running(TRAIN), waiting(NEXT))

    assert list(rows) == ["cohort/ml", "queue/team-a", "queue/team-b"]
    team, cohort = rows["queue/team-a"], rows["cohort/ml"]
    assert team["parent"] == "cohort/ml"
    assert (team["pending"], team["reserving"], team["admitted"]) == (1, 1, 1)
    assert team["resources"][GPU] == {"total": 4, "used": 4, "borrowed": 0, "lent": 0, "pending": 4}
    assert team["resources"]["cpu"]["total"] == 24
    assert team["resources"]["cpu"]["pending"] == 9.5
    assert cohort["resources"][GPU] == {"total": 8, "used": 4, "borrowed": 0, "lent": 0, "pending": 4}


def test_rows_have_budgets() -> None:
    queue = cluster_queue("team-a", quotas("l4", cpu=16, memory="64Gi", gpu=4))
    budget = [{"resource": GPU, "hours": 10, "period": "day", "flavor": "l4"}]
    stored_queue = stored(queue, annotations={BUDGETS: json.dumps(budget)})
    cluster = make_cluster({kinds.CLUSTER_QUEUES: [stored_queue]})
    row = dict(Board().refresh(cluster, NOW_MS)["queues"])["queue/team-a"]
    assert row["budgets"] == [
        {
            "of": f"{GPU} hours per day in l4",
            "used": 0.0,
            "committed": 0.0,
            "limit": 10.0,
            "end": rfc3339(NOW_MS - NOW_MS % 86_400_000 + 86_400_000),
            "runsOut": None,
            "by": "present rate",
        }
    ]


@pytest.mark.parametrize(("hours", "in_minutes"), [(10, 150), (0, None)])
def test_budgets_have_the_minute_in_which_they_run_out(hours: int, in_minutes: int | None) -> None:
    """4 GPUs use 10 hours in 150 minutes; without any hours, the time would change with each refresh."""
    queue, _ = local_stack(check=False)[kinds.CLUSTER_QUEUES]
    budget = {BUDGETS: json.dumps([{"resource": GPU, "hours": hours, "period": "day"}])}
    of = make_cluster(
        {
            **local_stack(check=False),
            kinds.CLUSTER_QUEUES: [stored(queue, annotations=budget)],
            kinds.WORKLOADS: [running(TRAIN, 0)],
        }
    )
    (row,) = dict(Board().refresh(of, NOW_MS)["queues"])["queue/team-a"]["budgets"]
    assert row["runsOut"] == (None if in_minutes is None else rfc3339(NOW_MS + 60_000 * in_minutes))


def test_version_of_a_queue_counts_changes_of_its_own_workloads() -> None:
    board = Board()
    before, after = refreshed(board, running(TRAIN)), refreshed(board)

    assert before["queue/team-b"]["version"] == after["queue/team-b"]["version"]
    assert before["queue/team-a"]["version"] < after["queue/team-a"]["version"]


def test_workloads_of_a_queue_are_paged() -> None:
    board = Board()
    refreshed(board, running(TRAIN), waiting(NEXT), waiting(OTHER))
    first, remaining = board.queue("team-a", 0, 1), board.queue("team-a", 1, 10)

    assert first is not None
    assert remaining is not None
    assert (first["total"], remaining["total"], remaining["from"]) == (3, 3, 1)
    assert [row["job"] for row in (*first["workloads"], *remaining["workloads"])] == [
        "rayjob/train",
        "rayjob/next",
        "rayjob/other",
    ]
    assert [row["position"] for row in remaining["workloads"]] == [1, 2]


def test_what_does_not_exist_has_no_details() -> None:
    board = Board()
    refreshed(board, waiting(NEXT))

    assert board.queue("none", 0, 10) is None
    assert board.workload("team-a/none") is None


def test_changed_job_counts_as_a_change_of_its_queue() -> None:
    """The annotations hold the estimated start."""
    board, job = Board(), stored(NEXT)
    owned = waiting(NEXT)
    owned["metadata"]["ownerReferences"][0]["uid"] = job["metadata"]["uid"]
    first = make_cluster({kinds.WORKLOADS: [owned], kinds.RAY_JOBS: [job]})
    job["metadata"]["annotations"]["muster.dev/eta"] = "{}"
    changed = make_cluster({kinds.RAY_JOBS: [job]})
    before = board.refresh(first, NOW_MS)["queues"]
    after = board.refresh(changed.with_objects(kinds.WORKLOADS, first.workloads), NOW_MS)["queues"]

    assert after["queue/team-a"]["version"] == before["queue/team-a"]["version"] + 1
    assert after["queue/team-b"] == before["queue/team-b"]
