"""The page of a sandbox: its server follows a job that is submitted, admitted and ends."""

import json
import urllib.request
from typing import Any

from sandbox.cluster.page_process import page_address
from tests.sandbox.conftest import Cluster, rayjob


def tables(cluster: Cluster) -> dict[str, Any]:
    with urllib.request.urlopen(f"{page_address(cluster.state)}api/tables", timeout=10) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def test_page_follows_a_job(cluster: Cluster) -> None:
    queue = tables(cluster)["queues"]["queue/team-a"]
    assert queue["resources"]["nvidia.com/gpu"]["total"] > 0
    name = cluster.submit(rayjob("on-the-page"))

    def ends() -> list[str]:
        return [row["end"] for row in tables(cluster)["gangs"].values() if row["name"] == f"team-a/{name}"]

    cluster.until("a gang that runs on the page", lambda: ends() == ["running"])
    key = next(
        row["workload"] for row in tables(cluster)["gangs"].values() if row["name"] == f"team-a/{name}"
    )
    with urllib.request.urlopen(f"{page_address(cluster.state)}api/workload?key={key}", timeout=10) as answer:
        assert json.load(answer)["workload"]["job"] == f"rayjob/{name}"
    cluster.until_succeeded(name)
    cluster.until("its end on the page", lambda: ends() == ["finished"])
