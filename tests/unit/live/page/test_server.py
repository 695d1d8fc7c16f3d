"""Requests that the server answers or refuses."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from muster.kube import kinds
from muster.live.page.board import Board
from muster.live.page.safety import HEADERS
from muster.live.page.server import served
from muster.live.page.watching import Watching
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import running, waiting
from tests.unit.live.page.memory_kube import MemoryKube
from tests.unit.live.pods import container, ended, labelled, pod

JOB = ray_job("train")


@asynccontextmanager
async def server(kube: MemoryKube | None = None, **options: Any) -> AsyncIterator[str]:
    """Serves the stack `local` with a running and a pending gang."""
    bodies = {**local_stack(), kinds.WORKLOADS: [running(JOB), waiting(ray_job("next"))]}
    kube = kube or MemoryKube(bodies)
    making = lambda changed: Watching(kube, changed, others_s_max=0.3)  # noqa: E731
    async with served(making, Board(), "127.0.0.1", 0, clock_ms=lambda: NOW_MS, **options) as port:
        yield f"http://127.0.0.1:{port}"


def within(check: Callable[[aiohttp.ClientSession, str], Awaitable[None]], **options: Any) -> None:
    """Runs a check on a served page."""

    async def run() -> None:
        async with server(**options) as url, aiohttp.ClientSession() as session:
            await check(session, url)

    asyncio.run(run())


PATHS = ("/", "/page.css", "/page.js", "/healthz", "/api/tables", "/api/queue?name=team-a", "/none")


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers_that_keep_it_to_itself(path: str) -> None:
    async def check(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{path}") as answer:
            assert answer.status == (404 if path == "/none" else 200)
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
            assert "Access-Control-Allow-Origin" not in answer.headers

    within(check)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_writes_are_refused(method: str) -> None:
    async def check(session: aiohttp.ClientSession, url: str) -> None:
        for path in ("/", "/api/tables", "/none"):
            async with session.request(method, f"{url}{path}") as answer:
                assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")

    within(check)


HOSTS = {
    "localhost": ("localhost:8080", 200),
    "loopback": ("127.0.0.1", 200),
    "IPv6": ("[::1]:8080", 200),
    "upper case": ("LOCALHOST", 200),
    "named by the user": ("queues.example.com", 200),
    "DNS rebinding": ("attacker.example:8080", 421),
    "a longer name": ("localhost.attacker.example", 421),
    "user information": ("attacker.example@localhost", 421),
    "unreadable": ("[::1", 421),
}


@pytest.mark.parametrize("name", HOSTS)
def test_only_known_hosts_are_answered(name: str) -> None:
    host, status = HOSTS[name]

    async def check(session: aiohttp.ClientSession, url: str) -> None:
        for path in ("/", "/api/tables"):
            async with session.get(f"{url}{path}", headers={"Host": host}) as answer:
                assert answer.status == status

    within(check, hosts={"localhost", "127.0.0.1", "::1", "queues.example.com"})


WRONG = {
    "no name": ("/api/queue", 400),
    "empty name": ("/api/queue?name=", 400),
    "long name": (f"/api/queue?name={'a' * 600}", 400),
    "negative position": ("/api/queue?name=team-a&from=-1", 400),
    "no number": ("/api/queue?name=team-a&count=many", 400),
    "unknown queue": ("/api/queue?name=none", 404),
    "unknown workload": ("/api/workload?key=team-a/none", 404),
    "path outside": ("/../server.py", 404),
    "other file": ("/page.html", 404),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_are_refused(name: str) -> None:
    path, status = WRONG[name]

    async def check(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{path}") as answer:
            assert answer.status == status

    within(check)


async def event(content: aiohttp.StreamReader) -> tuple[str, Any]:
    """Returns the next server-sent event: its name and its document."""
    name = (await content.readline()).decode().strip().removeprefix("event: ")
    data = (await content.readline()).removeprefix(b"data: ")
    await content.readline()
    return name, json.loads(data)


def test_events_begin_with_the_queues_and_go_on_with_what_changes() -> None:
    async def run() -> None:
        kube = MemoryKube({**local_stack(), kinds.WORKLOADS: []})
        async with (
            server(kube) as url,
            aiohttp.ClientSession() as session,
            session.get(f"{url}/api/events") as answer,
        ):
            assert answer.content_type == "text/event-stream"
            name, first = await event(answer.content)
            assert (name, set(first["rows"])) == ("tables", {"queues"})
            name, remaining = await event(answer.content)
            assert (name, set(remaining["rows"])) == (
                "patch",
                {"gangs", "preemptions", "provisioning", "estimates"},
            )
            kube.put(kinds.WORKLOADS, running(JOB))
            name, patch = await event(answer.content)
            assert (name, set(patch["rows"])) == ("patch", {"queues", "gangs"})
            assert set(patch["rows"]["queues"]) == {"cohort/ml", "queue/team-a"}

    asyncio.run(asyncio.wait_for(run(), 30))


def test_kinds_that_may_not_be_listed_are_left_out() -> None:
    async def check(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}/api/tables") as answer:
            assert set((await answer.json())["queues"]) == {"cohort/ml", "queue/team-a", "queue/team-b"}

    within(check, kube=MemoryKube(local_stack(), refused=(kinds.RAY_JOBS, kinds.PROVISIONING_REQUESTS)))


def test_problems_of_pods_are_part_of_a_workload() -> None:
    workload = running(JOB)
    crashing = pod("w-1", container(ended(137, "OOMKilled")), labels=labelled(workload["metadata"]["uid"]))
    bodies = {**local_stack(), kinds.WORKLOADS: [workload], kinds.DETAILED_PODS: [crashing]}
    url_path = f"/api/workload?key=team-a/{workload['metadata']['name']}"

    async def check(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{url_path}") as answer:
            (problem,) = (await answer.json())["podProblems"]
            assert problem["reason"] == "OOMKilled"

    async def check_unread(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{url_path}") as answer:
            document = await answer.json()
            assert (document["podProblems"], document["podsUnread"]) == (
                [],
                "you may not list pods in namespace team-a",
            )

    within(check, kube=MemoryKube(bodies))
    within(check_unread, kube=MemoryKube(bodies, refused=(kinds.DETAILED_PODS,)))
