"""Dry runs of gangs' pods and Services before they get quota, in a real API server, with the controller's own
account and under all policies of stack local."""

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cluster.jobs.job import Job
from muster.cluster.jobs.pod_checks import dry_runs
from muster.kube import kinds
from muster.kube.client import Kube, WriteError
from muster.kube.writes import Create
from sandbox.cluster.controller_process import write_token_kubeconfig
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.simulation.manifests import HEAD, ray_cluster_spec, ray_job, ray_service
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX
from tests.stacks.ray_requests import ADMIN, refusal
from tests.unit.controller.builders import job
from tools.toolchain.paths import CHECKOUT

Body = dict[str, Any]
GPU = {"nvidia.com/gpu": "1"}
WORKER: Body = {"spec": {"containers": [{"name": "worker", "image": "ray", "resources": {"limits": GPU}}]}}
EXAMPLES = sorted((CHECKOUT / "examples").glob("**/*.ray*.yaml"))


@pytest.fixture(scope="module")
def account(server: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig with a token of the controller's ServiceAccount."""
    path = tmp_path_factory.mktemp("account") / "kubeconfig"
    write_token_kubeconfig(server, path)
    return path


def template(
    metadata: Mapping[str, Any] | None = None, container: Mapping[str, Any] | None = None, **spec: Any
) -> Body:
    """Returns the worker's template with these fields in its metadata, its container and its spec."""
    body = deepcopy(WORKER)
    body["spec"]["containers"][0] |= dict(container or {})
    return {"metadata": dict(metadata or {}), "spec": {**body["spec"], **spec}}


def near(operator: str, **more: Any) -> Body:
    term = {"matchExpressions": [{"key": "pool", "operator": operator, **more}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def head(service: Body | None = None, **fields: Any) -> Body:
    """Returns a RayJob with this head Service, and these fields in its cluster's spec."""
    spec = {**ray_cluster_spec(1, WORKER), **fields}
    spec["headGroupSpec"] = {**spec["headGroupSpec"], **({"headService": service} if service else {})}
    return ray_job("bad", rayClusterSpec=spec)


def with_ports(*ports: int) -> Body:
    (container,) = HEAD["spec"]["containers"]
    declared = [{"name": f"port-{at}", "containerPort": port} for at, port in enumerate(ports)]
    return {"headGroupSpec": {"template": {"spec": {"containers": [{**container, "ports": declared}]}}}}


TWICE = WORKER["spec"]["containers"] * 2
IMPOSSIBLE: dict[str, tuple[Body, str]] = {
    "container name": (template(container={"name": "Bad_Name"}), "spec.containers[0].name"),
    "container name twice": (template(containers=TWICE), "spec.containers[1].name"),
    "no image": (template(container={"image": ""}), "spec.containers[0].image"),
    "operator": (template(affinity=near("Near")), "matchExpressions[0].operator"),
    "operator without values": (template(affinity=near("In")), "matchExpressions[0].values"),
    "label": (template({"labels": {"team": "not a label value!"}}), "metadata.labels"),
    "annotation": (template({"annotations": {"no/such/key": "x"}}), "metadata.annotations"),
    "node selector": (template(nodeSelector={"pool": "no good!"}), "spec.nodeSelector"),
    "toleration": (
        template(tolerations=[{"key": "gpu", "operator": "Exists", "value": "yes"}]),
        "spec.tolerations[0]",
    ),
    "requests above the limit": (
        template(container={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
        "resources.requests",
    ),
    "negative requests": (
        template(container={"resources": {"requests": {"cpu": "-1"}}}),
        "resources.requests[cpu]",
    ),
    "a fraction of a GPU": (
        template(container={"resources": {"limits": {"nvidia.com/gpu": "0.5"}}}),
        "resources.limits[nvidia.com/gpu]",
    ),
    "a container with the name of KubeRay's own": (
        template(initContainers=[{"name": "wait-gcs-ready", "image": "ray"}]),
        "spec.initContainers[1].name: Duplicate value",
    ),
    "service account": (template(serviceAccountName="absent"), 'serviceaccount "absent" not found'),
    "Pod Security": (template(hostNetwork=True), 'violates PodSecurity "baseline:latest": host namespaces'),
    "priority as a number": (template(priority=5), "the integer value of priority (5) must not be provided"),
    "priority class": (template(priorityClassName="urgent"), "no PriorityClass with name urgent was found"),
    "runtime class": (template(runtimeClassName="sand"), 'RuntimeClass "sand" not found'),
}
BAD_KEY = {"not a key": "x"}
BAD_SERVICES: dict[str, tuple[Body, str]] = {
    "name": (head({"metadata": {"name": "Bad_Name"}}), "metadata.name"),
    "label": (head({"metadata": {"labels": BAD_KEY}}), "metadata.labels"),
    "annotation": (head({"metadata": {"annotations": BAD_KEY}}), "metadata.annotations"),
    "annotation in headServiceAnnotations": (head(headServiceAnnotations=BAD_KEY), "metadata.annotations"),
    "type": (head({"spec": {"type": "Nowhere"}}), "spec.type"),
    "a port that KubeRay adds": (head({"spec": {"ports": [{"name": "mine", "port": 8265}]}}), "spec.ports["),
    "two ports with one number": (head(**with_ports(6379, 6379)), "spec.ports["),
    "Ray Serve's annotation": (
        ray_service("bad", worker=WORKER, serveService={"metadata": {"annotations": BAD_KEY}}),
        "metadata.annotations",
    ),
}
VALID: dict[str, Body] = {
    "an affinity": ray_job(
        "good",
        worker=template(affinity=near("In", values=["l4"])),
    ),
    "a name that workers do not get": ray_job("good", worker=template({"name": "Bad_Name"})),
    "a namespace that KubeRay replaces": ray_job("good", worker=template({"namespace": "team-b"})),
    "a Service with its own metadata": head(
        {"metadata": {"name": "mine", "namespace": "team-b"}, "spec": {"ports": [{"name": "a", "port": 1}]}}
    ),
    "its own ports": head(**with_ports(6379, 8265)),
    "Ray Serve": ray_service("good", worker=WORKER, serveService={"metadata": {"name": "mine"}}),
}


def refusals(account: Path, *jobs: Job) -> list[str | None]:
    """Returns the refusals of these jobs' dry runs."""

    async def run() -> list[str | None]:
        kube = Kube(str(account))
        try:
            messages = [await kube.refusal(create) for job in jobs for _, create in dry_runs(job)]
        finally:
            await kube.close()
        return [text for text in messages if text != ""]

    return asyncio.run(run())


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_templates_without_valid_pods_are_refused(account: Path, name: str) -> None:
    body, field = IMPOSSIBLE[name]
    (message,) = refusals(account, job(ray_job("bad", worker=body)))
    assert message is not None
    assert field in message


@pytest.mark.parametrize("name", BAD_SERVICES)
def test_invalid_services_are_refused(account: Path, name: str) -> None:
    body, field = BAD_SERVICES[name]
    (message,) = refusals(account, job(body))
    assert message is not None
    assert field in message


@pytest.mark.parametrize("name", VALID)
def test_a_valid_gang_is_accepted_and_leaves_nothing(server: Kubectl, account: Path, name: str) -> None:
    assert refusals(account, job(VALID[name])) == []
    assert "muster-dry-run" not in server.run("get", "pods,services", "--all-namespaces")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_examples_pods_are_accepted(account: Path, file: Path) -> None:
    example_jobs = [
        job(named(body)) for body in yaml.safe_load_all(file.read_text()) if "ray.io" in str(body)
    ]
    assert example_jobs
    assert refusals(account, *example_jobs) == []


def named(body: Body) -> Body:
    return {**body, "metadata": {"name": "example", **body["metadata"]}}


def test_an_exhausted_resource_quota_refuses_no_dry_run(server: Kubectl, account: Path) -> None:
    """The pods that use the quota may be preempted."""
    server.run("create", "quota", "nothing", "--namespace=team-b", "--hard=pods=0,services=0")
    pod = {"apiVersion": "v1", "kind": "Pod", **POD.body}
    wait_until(
        "the quota of zero", lambda: "exceeded quota" in refusal(server, ADMIN, pod), EFFECT_SECONDS_MAX
    )
    try:
        assert refusals(account, job(ray_job("dev", namespace="team-b", worker=WORKER))) == []
    finally:
        server.run("delete", "quota", "nothing", "--namespace=team-b")


POD = Create(kinds.PODS, {"metadata": {"name": "made", "namespace": "team-b"}, **WORKER})
SERVICE = Create(
    kinds.SERVICES,
    {"metadata": {"name": "made", "namespace": "team-b"}, "spec": {"ports": [{"name": "a", "port": 1}]}},
)


def creation(account: Path, create: Create) -> WriteError | None:
    """Returns the API server's refusal of the real creation, not of a dry run."""

    async def run() -> WriteError | None:
        kube = Kube(str(account))
        try:
            await kube.perform(create)
        except WriteError as refused:
            return refused
        finally:
            await kube.close()
        return None

    return asyncio.run(run())


@pytest.mark.parametrize("create", [POD, SERVICE], ids=lambda create: create.kind.name)
def test_the_controller_can_only_do_dry_runs(server: Kubectl, account: Path, create: Create) -> None:
    assert "muster-controller-makes-only-dry-runs" in str(creation(account, create))
    assert "made" not in server.run("get", "pods,services", "--namespace=team-b", "-o", "name")
