"""Names that collide, and names that are too long: of Workloads and of what is created for them."""

import asyncio
import re
from typing import Any

import pytest

from muster.cluster.job_workload import workload_name
from muster.controller.provisioning.check_requests import request_name
from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Body, key_of
from tests.simulation.invariants import condition
from tests.simulation.manifests import CHECK, HEAD, local_stack, ray_cluster, ray_job, ray_service, workload
from tests.simulation.ray_services import is_ready
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

LONG_S = 600.0
WRITES_MAX = 60  # within LONG_S: the back-off of a refused write grows to a minute
NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")  # RFC 1123


def name_of_its_workload(sim: Simulation, key: str) -> str:
    meta = sim.job(key)["metadata"]
    return workload_name("RayJob", "ray.io/v1", meta["name"], meta["uid"])


def events(sim: Simulation, key: str) -> list[str]:
    """Returns reason and message of the job's events."""
    uid = sim.job(key)["metadata"]["uid"]
    about = [e for e in sim.api.all(kinds.EVENTS) if e["involvedObject"]["uid"] == uid]
    return [f"{event['reason']}: {event['message']}" for event in about]


@pytest.mark.parametrize("seed", seeds(*range(3)))
def test_a_job_whose_workloads_name_is_taken_waits_with_an_event_and_delays_no_other(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        name = name_of_its_workload(sim, dev)
        taken = key_of(sim.api.create(kinds.WORKLOADS, workload(name, queueName="none"), "tenant"))
        other = sim.submit(ray_job("other"))
        await sim.until(lambda: sim.state(other) == "Complete", "the other job completes")
        assert sim.state(dev) == "Suspended"
        assert any(text.startswith("FailedCreate") and name in text for text in events(sim, dev))
        assert sim.kube is not None
        before = sim.kube.writes
        await asyncio.sleep(LONG_S)
        assert sim.kube.writes - before < WRITES_MAX
        sim.api.delete(kinds.WORKLOADS, taken, "tenant")
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes once the name is free")

    Simulation(seed, local_stack(check=False)).run(story)


def test_a_foreign_workload_that_claims_a_job_gets_the_jobs_pods_queue_and_priority() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        meta = sim.job(dev)["metadata"]
        pod_sets = [{"name": "a", "count": 1, "template": HEAD}]
        name = name_of_its_workload(sim, dev)
        body = workload(name, queueName="none", priority=10**6, podSets=pod_sets)
        reference = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "dev", "uid": meta["uid"]}
        body["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
        sim.api.create(kinds.WORKLOADS, body, "tenant")
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev has quota")
        (own,) = sim.api.all(kinds.WORKLOADS)
        counts = {pod_set["name"]: pod_set["count"] for pod_set in own["spec"]["podSets"]}
        assert counts == {"head": 1, "gpu": 4, "submitter": 1}
        assert (own["spec"]["queueName"], own["spec"]["priority"]) == ("user-queue", 100)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack(check=False)).run(story)


def test_jobs_of_all_kinds_may_have_the_same_name() -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(ray_job("same", workers=1))
        cluster = sim.submit(ray_cluster("same", workers=1))
        service = sim.submit(ray_service("same", workers=1))
        await sim.until(lambda: sim.state(job) == "Complete", "the RayJob completes")
        await sim.until(lambda: is_ready(sim.api.get(kinds.RAY_SERVICES, service)), "the RayService is ready")
        state = sim.api.get(kinds.RAY_CLUSTERS, cluster)["status"]["state"]
        assert (state, len(sim.api.all(kinds.WORKLOADS))) == ("ready", 3)

    Simulation(1, local_stack(check=False)).run(story)


def test_a_request_whose_name_is_taken_is_reported_and_made_once_it_is_free() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        name = request_name(name_of_its_workload(sim, dev), CHECK, 1)
        spec = {
            "provisioningClassName": "other",
            "podSets": [{"count": 1, "podTemplateRef": {"name": "none"}}],
        }
        body = {"metadata": {"name": name, "namespace": "team-a"}, "spec": spec}
        foreign = key_of(sim.api.create(kinds.PROVISIONING_REQUESTS, body, "tenant"))

        def message() -> str:
            checks = (sim.workload(dev) or {}).get("status", {}).get("admissionChecks") or [{}]
            return str(checks[0].get("message", ""))

        await sim.until(lambda: f"{foreign} already exists" in message(), "the check reports it")
        sim.api.delete(kinds.PROVISIONING_REQUESTS, foreign, "tenant")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack()).run(story)


def refusal_of_a_name(kind: Kind[Any], body: Body) -> str:
    """Refuses names as the API server does."""
    name = body["metadata"]["name"]
    return "" if NAME.fullmatch(name) else f"metadata.name: Invalid value: {name}"


LONG_NAMES = {
    "dots": "a." * 126 + "a",
    "the Workload's is cut behind a dot": f"{'a' * 239}.{'b' * 13}",
    "an event's is cut behind a dot": f"{'a' * 199}.b",
    "an event's is cut behind a dash": f"{'a' * 199}-b",
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_a_job_with_a_long_name_has_a_workload_that_says_why_it_waits(name: str) -> None:
    """KubeRay does not run it."""

    async def story(sim: Simulation) -> None:
        sim.api.refusal = refusal_of_a_name
        job = sim.submit(ray_job(LONG_NAMES[name], workers=1))
        await sim.until(lambda: "at most 47" in sim.waits(job), "a reason why it waits")
        reserved = condition(sim.workload(job), "QuotaReserved")
        assert reserved["reason"] == "Misconfigured"
        await sim.until(lambda: bool(sim.api.all(kinds.EVENTS)), "an event about it")

    Simulation(1, local_stack(check=False)).run(story)


@pytest.mark.parametrize("dot_at", [246, 242, 246 - len(f"-{CHECK}-1")])
def test_a_workload_with_a_long_name_gets_its_nodes(dot_at: int) -> None:
    """The creator chose the name; names of its request and templates are truncated."""

    async def story(sim: Simulation) -> None:
        sim.api.refusal = refusal_of_a_name
        name = f"{'a' * dot_at}.{'b' * (252 - dot_at)}"
        sim.api.create(kinds.WORKLOADS, workload(name, pods=1, seconds=1), "user")
        await sim.until(lambda: finished(sim) == 1, "it has finished")

    Simulation(1, local_stack()).run(story)


def finished(sim: Simulation) -> int:
    return sum(condition(w, "Finished").get("status") == "True" for w in sim.api.all(kinds.WORKLOADS))
