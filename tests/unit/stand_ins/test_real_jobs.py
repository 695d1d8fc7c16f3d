"""The state of a job from what Ray's REST API says of it."""

from typing import Any

import pytest

from sandbox.stand_ins.ray_jobs import JobInfo
from sandbox.stand_ins.real_jobs import job_info_of

CASES: dict[str, tuple[dict[str, Any], JobInfo]] = {
    "pending": (
        {"status": "PENDING", "start_time": 1000, "end_time": None, "message": "queued"},
        JobInfo("RUNNING", 1.0, None, "queued"),
    ),
    "running": (
        {"status": "RUNNING", "start_time": 1000, "message": "runs"},
        JobInfo("RUNNING", 1.0, None, "runs"),
    ),
    "succeeded": (
        {"status": "SUCCEEDED", "start_time": 1000, "end_time": 2500, "message": "done"},
        JobInfo("SUCCEEDED", 1.0, 2.5, "done"),
    ),
    "failed before it started": (
        {"status": "FAILED", "start_time": None, "end_time": 2500, "message": None},
        JobInfo("FAILED", 0.0, 2.5, ""),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_details_of_ray_are_a_jobs_state(name: str) -> None:
    details, info = CASES[name]
    assert job_info_of(details) == info
