"""The NetworkPolicies of tenants are in force: kube-router's controller enforces them on each node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.nodes.pods import connects, created, pod, wait_running

DASHBOARD, OTHER = 8265, 9999
SERVE = ["sh", "-c", f"python -m http.server {DASHBOARD} & exec python -m http.server {OTHER}"]
SLEEP = ["sleep", "3600"]
RAY = {"ray.io/cluster": "net"}
HEAD = {**RAY, "ray.io/node-type": "head"}
PODS = {
    ("team-a", "net-head"): (SERVE, HEAD),
    ("team-a", "net-worker"): (SLEEP, {**RAY, "ray.io/node-type": "worker"}),
    ("team-a", "net-submitter"): (SLEEP, {"batch.kubernetes.io/job-name": "net"}),
    ("team-a", "net-other"): (SLEEP, {}),
    ("team-b", "net-worker"): (SLEEP, RAY),
}


@pytest.fixture(scope="module")
def head(kubectl: Kubectl) -> Iterator[str]:
    """The address of a pod that listens like a Ray head; the other pods run too."""
    pods = [pod(name, namespace, *of) for (namespace, name), of in PODS.items()]
    with created(kubectl, pods):
        for namespace in ("team-a", "team-b"):
            wait_running(kubectl, namespace, [name for ns, name in PODS if ns == namespace])
        yield kubectl.run("get", "pod", "net-head", "-n", "team-a", "-o", "jsonpath={.status.podIP}")


@pytest.mark.parametrize(
    ("client", "port", "allowed"),
    [
        pytest.param(("team-a", "net-worker"), OTHER, True, id="a worker, any port of the head"),
        pytest.param(("team-a", "net-submitter"), DASHBOARD, True, id="a submitter, the dashboard"),
        pytest.param(("team-a", "net-submitter"), OTHER, False, id="a submitter, another port"),
        pytest.param(("team-a", "net-other"), DASHBOARD, False, id="another pod of the team"),
        pytest.param(("team-b", "net-worker"), DASHBOARD, False, id="a worker of another team"),
    ],
)
def test_a_head_is_open_to_its_own_pods_only(
    kubectl: Kubectl, head: str, client: tuple[str, str], port: int, allowed: bool
) -> None:
    assert connects(kubectl, client, head, port) is allowed


@pytest.mark.parametrize(
    ("client", "host", "port", "allowed"),
    [
        pytest.param(("team-a", "net-other"), "coredns.kube-system", 53, True, id="DNS"),
        pytest.param(("team-a", "net-other"), "muster-page.muster-system", 80, False, id="the page"),
        pytest.param(("team-a", "net-head"), "kubernetes.default", 443, True, id="a head, the API server"),
        pytest.param(
            ("team-a", "net-worker"), "kubernetes.default", 443, False, id="a worker, the API server"
        ),
    ],
)
@pytest.mark.usefixtures("head")
def test_a_tenants_pods_reach_what_the_stack_allows(
    kubectl: Kubectl, client: tuple[str, str], host: str, port: int, allowed: bool
) -> None:
    assert connects(kubectl, client, host, port) is allowed
