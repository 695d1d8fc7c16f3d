"""A process of the sandbox that ends is started again, and `status` says when and why it ended."""

import json
import time

import pytest

from muster.kube.lease import LEASE_S, RETRY_S
from sandbox.cluster.controller_process import NAME
from sandbox.cluster.page_process import page_address
from sandbox.cluster.processes import answers
from sandbox.status import status
from tests.sandbox.conftest import Cluster, rayjob
from tests.sandbox.leases import holder, times_waited

LEASE, NAMESPACE = "muster-controller", "muster-system"


def restarts(cluster: Cluster) -> int:
    return cluster.processes.table()[NAME].restarts


@pytest.mark.thorough
def test_a_controller_whose_lease_was_taken_is_back_and_status_says_why(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    first, restarts_before, waited_before = holder(cluster), restarts(cluster), times_waited(cluster, NAME)
    renewed = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    taken = {"spec": {"holderIdentity": "another", "renewTime": renewed, "leaseDurationSeconds": LEASE_S}}
    cluster.kubectl.run("patch", "lease", LEASE, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(taken))
    cluster.until("a restart", lambda: restarts(cluster) == restarts_before + 1)
    cluster.until("a start that waits", lambda: times_waited(cluster, NAME) == waited_before + 1)
    cluster.until("the Lease, once it expired", lambda: holder(cluster) == first, LEASE_S + 2 * RETRY_S)
    cluster.until_succeeded(cluster.submit(rayjob("lease-lost")))
    capsys.readouterr()
    assert status(cluster.state) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"has lost Lease {NAMESPACE}/{LEASE}" in shown
    last = cluster.processes.table()[NAME].last_exit
    assert last is not None
    assert (last.code, last.why.endswith(f"{first} has lost Lease {NAMESPACE}/{LEASE}")) == (1, True)


def test_a_killed_page_is_back_at_its_address(cluster: Cluster) -> None:
    before = cluster.processes.table()["page"]
    process, address = before.process(), page_address(cluster.state)
    assert process is not None
    process.kill()
    cluster.until("a restart", lambda: cluster.processes.table()["page"].restarts == before.restarts + 1)
    cluster.until("an answer at its address", lambda: answers(f"{address}healthz"))
