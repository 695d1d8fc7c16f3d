"""The order of dry runs, which answers are kept, and how an answer is interpreted."""

import asyncio
import contextlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from muster.cluster.jobs.job import Job
from muster.cluster.jobs.pod_checks import (
    ACCEPTED_S,
    CONCURRENT_MAX,
    REFUSED_S_MAX,
    REFUSED_S_MIN,
    PodChecks,
    dry_runs,
    key_of,
)
from muster.kube import kinds
from muster.kube.client import CAUSES_LENGTH_MAX, Kube
from muster.kube.connection import Request
from muster.kube.errors import NoAnswer, StatusError, status_error
from muster.kube.writes import Create
from tests.simulation.manifests import HEAD, ray_job, template
from tests.unit.controller.builders import job


class Slow(Kube):
    """Answers one dry run at a time, when the test allows it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open = 0
        self.most = 0

    async def refusal(self, create: Create) -> str | None:
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
    """Returns the answers after all dry runs."""

    async def story() -> tuple[PodChecks, list[str | None]]:
        checks = PodChecks(kube, lambda: None, lambda: 0.0)
        assert [checks.refusal(key_of(j), j, "team/gang") for j in jobs] == [None] * len(jobs)
        task = asyncio.create_task(checks.run())
        for _ in range(100 * len(jobs)):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return checks, [checks.refusal(key_of(j), j, "team/gang") for j in jobs]

    return asyncio.run(story())


def test_no_tenant_waits_for_all_of_anothers_templates() -> None:
    kube = Slow()
    jobs = [*(gang("loud", n) for n in range(50)), gang("quiet", 0), gang("still", 0)]
    _, answers = checked(kube, jobs)
    assert answers == [""] * len(jobs)
    assert {"quiet", "still"} <= set(kube.asked[: 3 * len(list(dry_runs(jobs[0])))])
    assert kube.most <= CONCURRENT_MAX


def test_equal_templates_are_checked_once_and_names_of_pod_sets_count() -> None:
    kube = Slow()
    first, again = job(ray_job("one")), job(ray_job("two"))
    checked(kube, [first, again])
    assert len(kube.asked) == len(list(dry_runs(first)))
    assert key_of(first) == key_of(again)
    assert key_of(gang("team-a", 1)) != key_of(gang("team-a", 2)), "as long, but not equal"
    renamed = ray_job("one")
    renamed["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["groupName"] = "other"
    elsewhere = job(ray_job("one", namespace="team-b"))
    assert len({key_of(first), key_of(job(renamed)), key_of(elsewhere)}) == 3


def test_the_first_refusal_names_its_pod_set() -> None:
    body = ray_job("dev", worker=template("Bad_Name", cpu=1))
    _, answers = checked(Slow(), [job(body)])
    assert answers == ["Kubernetes would not create pods of pod set 'gpu': no"]


def test_an_answer_wakes_the_controller() -> None:
    """Otherwise the gang would wait for an unrelated event."""
    passes: list[str] = []

    async def story() -> None:
        checks = PodChecks(Slow(), lambda: passes.append("another"), lambda: 0.0)
        checks.refusal(key_of(first), first, "team/gang")
        task = asyncio.create_task(checks.run())
        for _ in range(100):
            await asyncio.sleep(0)
        task.cancel()

    first = gang("team-a", 1)
    asyncio.run(story())
    assert passes == ["another"]


def test_answers_that_no_full_pass_requests_are_dropped() -> None:
    first = gang("team-a", 1)
    checks, _ = checked(Slow(), [first])
    checks.begin_full_pass()
    assert checks.refusal(key_of(first), first, "team/gang") == ""
    checks.begin_full_pass()
    checks.begin_full_pass()
    assert checks.refusal(key_of(first), first, "team/gang") is None


def answer_of(code: int, **body: Any) -> StatusError:
    return status_error(code, msgspec.json.encode(body))


def cause(field: str) -> dict[str, str]:
    return {"field": field, "message": "Invalid value", "reason": "FieldValueInvalid"}


FORBIDDEN = 'pods "muster-dry-run-" is forbidden: '
NAMED = {"name": "muster-dry-run-", "kind": "pods"}
ANSWERS: dict[str, tuple[Exception | None, str | None]] = {
    "taken": (None, ""),
    "invalid": (
        answer_of(422, message="it is invalid", details={"causes": [cause("a.b"), cause("c")]}),
        "a.b: Invalid value; c: Invalid value",
    ),
    "invalid, without details": (answer_of(422, message="it is invalid"), "it is invalid"),
    "a long message": (answer_of(422, message="x" * 5000), "x" * CAUSES_LENGTH_MAX + "…"),
    "refused by an admission plug-in": (
        answer_of(403, message=f"{FORBIDDEN}no PriorityClass with name x was found", details=NAMED),
        "no PriorityClass with name x was found",
    ),
    "refused by a webhook": (
        answer_of(403, message='admission webhook "w" denied the request: no'),
        'admission webhook "w" denied the request: no',
    ),
    "a ResourceQuota that is used up": (
        answer_of(403, message=f"{FORBIDDEN}exceeded quota: q, requested: pods=1", details=NAMED),
        "",
    ),
    "a ResourceQuota that asks for limits": (
        answer_of(403, message=f"{FORBIDDEN}failed quota: q: must specify limits.cpu", details=NAMED),
        "failed quota: q: must specify limits.cpu",
    ),
    "the controller lacks the permission": (
        answer_of(403, message='pods is forbidden: User "u" cannot create', details={"kind": "pods"}),
        None,
    ),
    "a name that is in use": (answer_of(409, message="already exists", details=NAMED), ""),
    "a webhook without support for dry runs": (answer_of(400, message="does not support dry run"), None),
    "the server fails": (answer_of(500, message="no"), None),
    "no answer": (NoAnswer("no answer"), None),
    "too late": (TimeoutError(), None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_how_an_answer_is_interpreted(name: str) -> None:
    error, expected = ANSWERS[name]
    sent: list[Request] = []

    class Server(Kube):
        def __init__(self) -> None:
            """Makes no connection."""

        async def _answer(self, request: Request) -> bytes:
            sent.append(request)
            if error is not None:
                raise error
            return b"{}"

    create = Create(kinds.PODS, {"metadata": {"namespace": "team-a"}, **HEAD})
    assert asyncio.run(Server().refusal(create)) == expected
    assert [(r.path, r.parameters["dryRun"]) for r in sent] == [("/api/v1/namespaces/team-a/pods", "All")]


@dataclass
class Clock:
    """A clock set by the test."""

    now_s: float = 0.0


def asked_at(answer: str | None, until_s: int) -> list[int]:
    """Returns the seconds at which a gang with this constant answer is checked."""
    clock, test_clock = Clock(), list[int]()
    gang_of_one = gang("team-a", 1)

    class Answering(Slow):
        async def refusal(self, create: Create) -> str | None:
            test_clock.append(round(clock.now_s))
            return answer

    async def story() -> None:
        checks = PodChecks(Answering(), lambda: None, lambda: clock.now_s)
        for second in range(until_s):
            clock.now_s = second
            checks.begin_full_pass()
            checks.refusal(key_of(gang_of_one), gang_of_one, "team/gang")
            task = asyncio.create_task(checks.run())
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    asyncio.run(story())
    return sorted(set(test_clock))


@pytest.mark.parametrize("answer", ["no", None])
def test_refused_gangs_are_checked_again_with_back_off(answer: str | None) -> None:
    times = asked_at(answer, 1500)
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == [min(REFUSED_S_MIN * 2**n, REFUSED_S_MAX) for n in range(len(waits))]
    assert waits[-1] == REFUSED_S_MAX


def test_accepted_gangs_are_checked_again_after_an_interval() -> None:
    assert asked_at("", round(ACCEPTED_S) + 1) == [0, ACCEPTED_S]
