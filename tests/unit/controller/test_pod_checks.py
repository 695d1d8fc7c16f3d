"""Whose templates are asked about next, which answers are kept, and what an answer is read as."""

import asyncio
import contextlib
from typing import Any

import httpx2
import pytest
from lightkube import ApiError

from muster.controller.jobs.job import Job
from muster.controller.pod_checks import CONCURRENT_MAX, PodChecks, key_of
from muster.kube import kinds
from muster.kube.client import CAUSES_LENGTH_MAX, Kube
from muster.kube.writes import Create
from tests.simulation.manifests import HEAD, ray_job, template
from tests.unit.controller.builders import job


class Slow(Kube):
    """Answers one question after the other, when told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open = 0
        self.most = 0

    async def refusal(self, create: Create) -> str:
        self.asked.append(create.body["metadata"]["namespace"])
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        return "no" if "Bad" in str(create.body) else ""


def gang(namespace: str, number: int) -> Job:
    worker = template(f"c{number}", cpu=1)
    return job(ray_job(f"job-{number}", namespace=namespace, worker=worker))


def checked(kube: Slow, jobs: list[Job]) -> tuple[PodChecks, list[str | None]]:
    """After all was asked."""

    async def story() -> tuple[PodChecks, list[str | None]]:
        checks = PodChecks(kube, lambda: None)
        assert [checks.answer(key_of(j), j) for j in jobs] == [None] * len(jobs)
        task = asyncio.create_task(checks.run())
        for _ in range(100 * len(jobs)):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return checks, [checks.answer(key_of(j), j) for j in jobs]

    return asyncio.run(story())


def test_no_tenant_waits_for_all_of_anothers_templates() -> None:
    kube = Slow()
    jobs = [*(gang("loud", n) for n in range(50)), gang("quiet", 0), gang("still", 0)]
    _, answers = checked(kube, jobs)
    assert answers == [""] * len(jobs)
    assert {"quiet", "still"} <= set(kube.asked[: 3 * len(jobs[0].places)])
    assert kube.most <= CONCURRENT_MAX


def test_equal_templates_are_asked_about_once_and_names_of_pod_sets_count() -> None:
    kube = Slow()
    first, again = job(ray_job("one")), job(ray_job("two"))
    checked(kube, [first, again])
    assert len(kube.asked) == len(first.places)
    assert key_of(first) == key_of(again)
    renamed = ray_job("one")
    renamed["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["groupName"] = "other"
    elsewhere = job(ray_job("one", namespace="team-b"))
    assert len({key_of(first), key_of(job(renamed)), key_of(elsewhere)}) == 3


def test_the_first_refusal_is_told_with_its_pod_set() -> None:
    body = ray_job("dev", worker=template("Bad_Name", cpu=1))
    _, answers = checked(Slow(), [job(body)])
    assert answers == ["pod set 'gpu': Kubernetes would not create its pods: no"]


def test_answers_that_nobody_looks_for_are_forgotten() -> None:
    first = gang("team-a", 1)
    checks, _ = checked(Slow(), [first])
    checks.turn()
    assert checks.answer(key_of(first), first) == ""
    checks.turn()
    checks.turn()
    assert checks.answer(key_of(first), first) is None


def answer_of(code: int, **body: Any) -> ApiError:
    response = httpx2.Response(code, json={"code": code, **body})
    return ApiError(request=httpx2.Request("POST", "http://emulated"), response=response)


def cause(field: str) -> dict[str, str]:
    return {"field": field, "message": "Invalid value", "reason": "FieldValueInvalid"}


ANSWERS: dict[str, tuple[Exception | None, str]] = {
    "taken": (None, ""),
    "invalid": (
        answer_of(422, message="it is invalid", details={"causes": [cause("a.b"), cause("c")]}),
        "a.b: Invalid value; c: Invalid value",
    ),
    "invalid, and no more": (answer_of(422, message="it is invalid"), "it is invalid"),
    "more than anybody reads": (answer_of(422, message="x" * 5000), "x" * CAUSES_LENGTH_MAX + "…"),
    "not allowed": (answer_of(403, message="by a quota"), ""),
    "a webhook that knows no dry runs": (answer_of(400, message="does not support dry run"), ""),
    "the server fails": (answer_of(500, message="no"), ""),
    "nobody answers": (httpx2.ReadTimeout("no answer"), ""),
    "too late": (TimeoutError(), ""),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_only_what_is_invalid_is_refused(name: str) -> None:
    error, wanted = ANSWERS[name]
    sent: list[tuple[str, bool]] = []

    class Client:
        async def create(self, body: Any, *, namespace: str, dry_run: bool) -> None:
            sent.append((namespace, dry_run))
            if error is not None:
                raise error

    kube = Kube.__new__(Kube)
    kube._client = Client()
    create = Create(kinds.POD_TEMPLATES, {"metadata": {"namespace": "team-a"}, "template": HEAD})
    assert asyncio.run(kube.refusal(create)) == wanted
    assert sent == [("team-a", True)]
