"""ProvisioningRequests that are deleted, lose their pod templates, or get no answer."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from muster.kube import kinds
from tests.simulation.api import Refused, key_of
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

LEAVES_S_MAX = 10.0  # the garbage collector, and what Muster then writes


def delete_request(sim: Simulation) -> None:
    (request,) = sim.api.all(kinds.PROVISIONING_REQUESTS)
    sim.api.delete(kinds.PROVISIONING_REQUESTS, key_of(request), "user")


def delete_template(sim: Simulation) -> None:
    (template,) = sim.api.all(kinds.POD_TEMPLATES)
    sim.api.delete(kinds.POD_TEMPLATES, key_of(template), "user")


def delete_both(sim: Simulation) -> None:
    delete_template(sim)
    delete_request(sim)


DELETIONS: dict[str, Callable[[Simulation], None]] = {
    "the request": delete_request,
    "its template": delete_template,
    "both": delete_both,
}


@pytest.mark.parametrize("seed", seeds(*range(4)))
@pytest.mark.parametrize("name", DELETIONS)
def test_deleted_requests_and_templates_are_recreated(name: str, seed: int) -> None:
    """The garbage collector deletes the templates of a deleted request later, when the next request of the
    same name needs them."""

    async def story(sim: Simulation) -> None:
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: is_accepted(sim), "the request is accepted")
        await asyncio.sleep(sim.random.uniform(0, 1))
        for _ in range(3):
            DELETIONS[name](sim)
            await asyncio.sleep(sim.random.uniform(LEAVES_S_MAX, 2 * LEAVES_S_MAX))
            assert has_templates(sim)
        sim.cloud.nodes_max = 10
        await sim.until(lambda: sim.state(job) == "Complete", "the job completes")

    Simulation(seed, local_stack(), nodes=0).run(story)


def is_accepted(sim: Simulation) -> bool:
    requests = sim.api.all(kinds.PROVISIONING_REQUESTS)
    return any(condition(request, "Accepted").get("status") == "True" for request in requests)


def has_templates(sim: Simulation) -> bool:
    """Returns whether the request and all its templates exist."""
    requests = sim.api.all(kinds.PROVISIONING_REQUESTS)
    names = {p["podTemplateRef"]["name"] for r in requests for p in r["spec"]["podSets"]}
    return bool(requests) and names == {t["metadata"]["name"] for t in sim.api.all(kinds.POD_TEMPLATES)}


def test_a_request_without_an_answer_is_retried() -> None:
    async def story(sim: Simulation) -> None:
        sim.cloud.answering = False
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: any(r.endswith("-2") for r in sim.requests()), "the second try", 12)
        sim.cloud.answering = True
        await sim.until(lambda: sim.state(job) == "Complete", "the job completes")
        events = [e for e in sim.api.all(kinds.EVENTS) if "was not accepted within 600 s" in e["message"]]
        assert {e["reason"] for e in events} == {"EvictedDueToAdmissionCheck"}

    Simulation(1, local_stack()).run(story)


def test_a_request_without_an_answer_is_finally_rejected() -> None:
    async def story(sim: Simulation) -> None:
        sim.cloud.answering = False
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.waits(job).startswith("Suspended"), "it leaves the queue", 45)
        assert "was not accepted within 600 s" in sim.waits(job)
        assert not sim.reserved()

    Simulation(1, local_stack()).run(story)


def test_an_accepted_request_may_take_hours() -> None:
    async def story(sim: Simulation) -> None:
        job = sim.submit(ray_job("dev"))
        await sim.until(lambda: is_accepted(sim), "the request is accepted")
        (name,) = sim.requests()
        await asyncio.sleep(3 * 3600)
        assert sim.requests() == [name]
        sim.cloud.nodes_max = 10
        await sim.until(lambda: sim.state(job) == "Complete", "the job completes")

    Simulation(2, local_stack(), nodes=0).run(story)


def test_a_foreign_template_with_its_name_is_reported() -> None:
    async def story(sim: Simulation) -> None:
        def take_the_name(change: object) -> None:
            for workload in sim.api.all(kinds.WORKLOADS):
                name = f"ppt-{workload['metadata']['name']}-queued-provisioning-1-gpu"
                body = {"metadata": {"name": name, "namespace": "team-a"}, "template": {}}
                with contextlib.suppress(Refused):
                    sim.api.create(kinds.POD_TEMPLATES, body, "another client")

        sim.api.watchers.append(take_the_name)
        job = sim.submit(ray_job("dev"))

        def check_message() -> str:
            workload = sim.workload(job) or {}
            checks = workload.get("status", {}).get("admissionChecks", [])
            return str(checks[0].get("message", "")) if checks else ""

        await sim.until(
            lambda: check_message().startswith("Error creating PodTemplate"), "the check has the error"
        )

    Simulation(3, local_stack()).run(story)
