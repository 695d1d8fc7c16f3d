"""Gangs whose pods or head Service the API server would refuse: they get a message and no quota."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.api import Body
from tests.simulation.dry_runs import ENFORCED, SERVICE_ACCOUNTS
from tests.simulation.manifests import HEAD, WORKER, local_stack, ray_cluster_spec, ray_job, template
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

CONTAINER = WORKER["spec"]["containers"][0]


def workers(**fields: Any) -> Body:
    """Returns a RayJob with these fields in its workers' pod spec."""
    return ray_job("bad", worker={"spec": {**WORKER["spec"], **fields}}, priority="prod-priority")


def head(template: Body = HEAD, **fields: Any) -> Body:
    """Returns a RayJob with these fields in its head group."""
    spec = ray_cluster_spec(1, head=template)
    spec["headGroupSpec"] |= fields
    return ray_job("bad", rayClusterSpec=spec, priority="prod-priority")


def with_ports(*ports: int) -> Body:
    (container,) = HEAD["spec"]["containers"]
    declared = [{"name": f"port-{at}", "containerPort": port} for at, port in enumerate(ports)]
    return {"spec": {"containers": [{**container, "ports": declared}]}}


OF_WORKERS = "Kubernetes would not create pods of pod set 'gpu': "
OF_SERVICE = "Kubernetes would not create the head's Service: "
NO_ACCOUNT = f'{OF_WORKERS}error looking up service account team-a/absent: serviceaccount "absent" not found'
BAD_ANNOTATION = {"not a key": "x"}
IMPOSSIBLE: dict[str, tuple[Body, str]] = {
    "a bad container name": (
        ray_job("bad", worker=template("Bad_Name", cpu=1, memory="1Gi", gpu=1)),
        f"{OF_WORKERS}spec.containers.name: Invalid value: 'Bad_Name'",
    ),
    "no image": (
        workers(containers=[{**CONTAINER, "image": ""}]),
        f"{OF_WORKERS}spec.containers.image of 'worker': Required value",
    ),
    "a container with the name of KubeRay's own": (
        workers(initContainers=[{**CONTAINER, "name": "wait-gcs-ready"}]),
        "pod set 'gpu' has a container named 'wait-gcs-ready', which KubeRay also adds: rename the container",
    ),
    "a priority as a number": (
        workers(priority=5),
        f"{OF_WORKERS}the integer value of priority (5) must not be provided in pod spec",
    ),
    "a service account that does not exist": (workers(serviceAccountName="absent"), NO_ACCOUNT),
    "a bad name of the head": (
        head({"metadata": {"name": "Bad_Name"}, **HEAD}),
        "Kubernetes would not create pods of pod set 'head': metadata.name: Invalid value: 'Bad_Name'",
    ),
    "a bad name of the head's Service": (
        head(headService={"metadata": {"name": "Bad_Name"}}),
        f"{OF_SERVICE}metadata.name: Invalid value: 'Bad_Name'",
    ),
    "a bad annotation of the head's Service": (
        head(headService={"metadata": {"annotations": BAD_ANNOTATION}}),
        f"{OF_SERVICE}metadata.annotations: Invalid value: 'not a key'",
    ),
    "a bad annotation for the head's Service": (
        ray_job("bad", rayClusterSpec={**ray_cluster_spec(1), "headServiceAnnotations": BAD_ANNOTATION}),
        f"{OF_SERVICE}metadata.annotations: Invalid value: 'not a key'",
    ),
    "two ports of the head's Service with one number": (
        head(with_ports(6379, 6379)),
        f"{OF_SERVICE}spec.ports: Duplicate value: 6379",
    ),
    "a port of the head's Service that KubeRay adds": (
        head(headService={"spec": {"ports": [{"name": "mine", "port": 8265}]}}),
        f"{OF_SERVICE}spec.ports: Duplicate value: 8265",
    ),
}
TAKEN = {
    "a name that workers do not get": ray_job("good", worker={"metadata": {"name": "Bad_Name"}, **WORKER}),
    "a namespace that KubeRay replaces": ray_job("good", worker={"metadata": {"namespace": "no"}, **WORKER}),
}


@pytest.mark.parametrize("seed", seeds(*range(2)))
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_gangs_hold_no_quota(name: str, seed: int) -> None:
    body, why = IMPOSSIBLE[name]

    async def story(sim: Simulation) -> None:
        bad = sim.submit(body)
        good = sim.submit(ray_job("good"))
        await sim.until(lambda: sim.waits(bad) == f"Misconfigured: {why}", "the reason is reported")
        await sim.until(lambda: sim.state(good) == "Complete", "the other one completes")
        sim.kill()  # the next controller has no cached answers
        await asyncio.sleep(30)
        assert sim.waits(bad) == f"Misconfigured: {why}"
        assert not any(held for held in sim.history(kinds.WORKLOADS, holds_bad))

    Simulation(seed, local_stack()).run(story)


def holds_bad(workload: Body) -> bool:
    return "bad" in workload["metadata"]["name"] and "admission" in workload.get("status", {})


@pytest.mark.parametrize("name", TAKEN)
def test_fields_that_kuberay_replaces_are_not_refused(name: str) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(TAKEN[name])
        await sim.until(lambda: sim.state(job) == "Complete", "it completes")

    Simulation(1, local_stack()).run(story)


def create_account(sim: Simulation) -> None:
    sim.api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "absent", "namespace": "team-a"}}, "user")


def enforce(level: str | None) -> Callable[[Simulation], None]:
    return lambda sim: sim.patch(kinds.NAMESPACES, "team-a", {"metadata": {"labels": {ENFORCED: level}}})


CORRECTIONS: dict[str, tuple[Callable[[Simulation], None], Body, str, Callable[[Simulation], None]]] = {
    "a service account that is created later": (
        lambda sim: None,
        workers(serviceAccountName="absent"),
        NO_ACCOUNT,
        create_account,
    ),
    "Pod Security that is relaxed": (
        enforce("restricted"),
        ray_job("bad"),
        "Kubernetes would not create pods of pod set 'head': "
        'violates PodSecurity "restricted:latest": runAsNonRoot != true',
        enforce(None),
    ),
}


@pytest.mark.parametrize("name", CORRECTIONS)
def test_dry_runs_are_repeated_after_a_correction(name: str) -> None:
    """Back-off: few requests without a change, and a bounded delay after one."""
    before, body, why, correct = CORRECTIONS[name]

    async def story(sim: Simulation) -> None:
        before(sim)
        job = sim.submit(body)
        await sim.until(lambda: sim.waits(job) == f"Misconfigured: {why}", "the reason is reported")
        assert sim.kube is not None
        asked = sim.kube.dry_runs
        await sim.stays(lambda: sim.waits(job) == f"Misconfigured: {why}", "it waits", minutes=20)
        assert sim.kube.dry_runs - asked <= 50, "each time the pods up to the refused one"
        correct(sim)
        await sim.until(lambda: sim.state(job) == "Complete", "it completes", minutes=6)

    Simulation(1, local_stack()).run(story)


def test_a_refusal_that_appears_while_a_gang_waits_is_reported() -> None:
    async def story(sim: Simulation) -> None:
        create_account(sim)
        first = sim.submit(ray_job("first", seconds=3600))
        await sim.until(lambda: sim.has(first, "Admitted"), "all GPUs are taken")
        job = sim.submit(workers(serviceAccountName="absent") | {"metadata": ray_job("bad")["metadata"]})
        await sim.until(lambda: sim.waits(job).startswith("WaitingForQuota"), "it waits for quota")
        sim.api.delete(SERVICE_ACCOUNTS, "team-a/absent", "user")
        await sim.until(
            lambda: sim.waits(job) == f"Misconfigured: {NO_ACCOUNT}", "its reason is reported", minutes=11
        )

    Simulation(1, local_stack()).run(story)


def test_gangs_go_on_if_dry_runs_get_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(job) == "Complete", "it completes")

    async def cannot_tell(self: Any, create: Any) -> None:
        await asyncio.sleep(5)

    monkeypatch.setattr("tests.simulation.kube.EmulatedKube.refusal", cannot_tell)
    Simulation(1, local_stack()).run(story)
