"""The client over a real connection: its requests, and its results for each response."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from muster.kube import client, kinds
from muster.kube.client import CHUNK, PAGE_RETRIES_MAX, Kube, NotLeading, WriteError
from muster.kube.errors import NoAnswer, StatusError
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, Overwrite, Write
from muster.objects.core import Pod
from muster.objects.meta import ObjectMeta
from tests.unit.kube.server import Received, Server, answer, kubeconfig

Work = Callable[[Kube], Awaitable[Any]]
MANAGER = "?fieldManager=muster"
WORKLOAD = "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STATUS = {"kind": "Status", "message": "no", "code": 409}


def asked(
    folder: Path,
    work: Work,
    *answers: bytes,
    user: dict[str, Any] | None = None,
    write_seconds: float = 30.0,
) -> tuple[Any, list[Received]]:
    """Returns the result of `work`, or its error, and the requests that the server received."""
    server, results = Server(answers), []

    async def with_client(url: str) -> None:
        kube = Kube(kubeconfig(folder, url, user), lambda: write_seconds)
        try:
            results.append(await work(kube))
        except Exception as error:
            results.append(error)
        finally:
            await kube.close()

    asyncio.run(server.serve(with_client))
    return results[0], server.received


# write -> method, target, content type, body
WRITES: dict[str, tuple[Write, tuple[str, str, str, Any]]] = {
    "create": (
        Create(kinds.WORKLOADS, {"metadata": {"namespace": "a", "name": "w"}}),
        (
            "POST",
            f"{WORKLOAD.removesuffix('/w')}{MANAGER}",
            "application/json",
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"namespace": "a", "name": "w"},
            },
        ),
    ),
    "patch": (
        MergePatch(kinds.WORKLOADS, "a/w", {"metadata": {"labels": {"x": None}}}, "7"),
        ("PATCH", WORKLOAD + MANAGER, MERGE, {"metadata": {"labels": {"x": None}, "resourceVersion": "7"}}),
    ),
    "patch of a status": (
        MergePatch(kinds.WORKLOADS, "a/w", {"status": {"conditions": ()}}, "7", status=True),
        (
            "PATCH",
            f"{WORKLOAD}/status{MANAGER}",
            MERGE,
            {"status": {"conditions": []}, "metadata": {"resourceVersion": "7"}},
        ),
    ),
    "the first status": (
        MergePatch(kinds.WORKLOADS, "a/w", {"status": {"conditions": ()}}, "7", status=True, whole=True),
        (
            "PUT",
            f"{WORKLOAD}/status{MANAGER}",
            "application/json",
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"namespace": "a", "name": "w", "resourceVersion": "7"},
                "status": {"conditions": []},
            },
        ),
    ),
    "overwrite": (
        Overwrite(kinds.NODES, "n", {"spec": {"x": 1}}, "uid"),
        ("PATCH", f"/api/v1/nodes/n{MANAGER}", MERGE, {"spec": {"x": 1}, "metadata": {"uid": "uid"}}),
    ),
    "JSON patch": (
        JsonPatch(kinds.WORKLOADS, "a/w", ({"op": "remove", "path": "/spec"},), "7"),
        (
            "PATCH",
            WORKLOAD + MANAGER,
            JSON_PATCH,
            [
                {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
                {"op": "remove", "path": "/spec"},
            ],
        ),
    ),
    "delete": (
        Delete(kinds.WORKLOADS, "a/w", grace_s=0, uid="uid"),
        (
            "DELETE",
            WORKLOAD,
            "application/json",
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": "Background",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": "uid"},
            },
        ),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_request_of_a_write(name: str, tmp_path: Path) -> None:
    write, expected = WRITES[name]
    _, (received,) = asked(tmp_path, lambda kube: kube.perform(write), answer())
    sent = received.method, received.target, received.headers["content-type"], json.loads(received.body)
    assert sent == expected


def test_the_answer_to_a_write_is_the_object(tmp_path: Path) -> None:
    write = WRITES["patch"][0]
    stored = {"metadata": {"name": "w", "namespace": "a", "resourceVersion": "8"}, "spec": {"active": False}}
    answered_object, _ = asked(tmp_path, lambda kube: kube.perform(write), answer(201, stored))
    assert isinstance(answered_object, kinds.WORKLOADS.view)
    assert (answered_object.metadata.resource_version, answered_object.spec.active) == ("8", False)


# answers -> code of the error, whether it is stale, whether it is unsure
ERRORS: dict[str, tuple[bytes, tuple[int, bool, bool]]] = {
    "a conflict": (answer(409, STATUS), (409, True, False)),
    "the object is deleted": (answer(404, STATUS), (404, True, False)),
    "invalid": (answer(422, STATUS), (422, False, False)),
    "too many requests": (answer(429, STATUS), (429, False, False)),
    "the server fails": (answer(500, STATUS), (500, False, True)),
    "a proxy's error": (answer(502, b"<html>"), (502, False, True)),
    "a redirection": (answer(302, Location="https://login"), (302, False, False)),
    "the connection breaks": (b"", (0, False, True)),
    "the answer breaks off": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{",
        (0, False, True),
    ),
    "it is no object": (answer(200, b"[]"), (0, False, True)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_of_a_write(name: str, tmp_path: Path) -> None:
    text, expected = ERRORS[name]
    write = WRITES["patch"][0]
    error, received = asked(tmp_path, lambda kube: kube.perform(write), text, b"", write_seconds=0.5)
    assert isinstance(error, WriteError), error
    cause = error.__cause__
    assert (cause.code if isinstance(cause, StatusError) else 0, error.stale, error.unsure) == expected
    assert len(received) == 1


def test_a_write_without_an_answer_ends_with_the_lease(tmp_path: Path) -> None:
    error, _ = asked(tmp_path, lambda kube: kube.perform(WRITES["patch"][0]), write_seconds=0.05)
    assert isinstance(error, WriteError)
    assert error.unsure
    assert "no answer within" in str(error)


def test_nothing_is_sent_without_the_lease(tmp_path: Path) -> None:
    error, received = asked(tmp_path, lambda kube: kube.perform(WRITES["patch"][0]), write_seconds=0.0)
    assert isinstance(error, NotLeading)
    assert not received


def test_deletion_of_what_is_gone_succeeds(tmp_path: Path) -> None:
    answered_object, _ = asked(tmp_path, lambda kube: kube.perform(WRITES["delete"][0]), answer(404, STATUS))
    assert answered_object is None


def test_a_list_is_read_in_chunks_over_one_connection(tmp_path: Path) -> None:
    first = {
        "metadata": {"resourceVersion": "9", "continue": "next"},
        "items": [{"metadata": {"name": "one"}}],
    }
    second = gzip.compress(
        json.dumps({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "two"}}]}).encode()
    )
    stored_pods = {"two": Pod(metadata=ObjectMeta(name="known"))}
    answer_result, received = asked(
        tmp_path,
        lambda kube: kube.list(
            kinds.PODS, {"a": None, "b": "1"}, "team", lambda p: stored_pods.get(p.key, p)
        ),
        answer(200, first),
        answer(200, second, Content_Encoding="gzip"),
    )
    assert [pod.metadata.name for pod in answer_result[1]] == ["one", "known"]
    assert answer_result[0] == "9"
    target = f"/api/v1/namespaces/team/pods?limit={CHUNK}&labelSelector=a%2Cb%3D1"
    assert [r.target for r in received] == [target, f"{target}&continue=next"]
    assert {r.connection for r in received} == {0}


FIRST_PAGE = answer(200, {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": []})
LAST_PAGE = answer(200, {"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "last"}}]})
TOO_LARGE = answer(504, STATUS, Retry_After="1")
"""The watch cache is behind etcd, which the first page came from."""

PAGES = {
    "the watch cache is behind": ([FIRST_PAGE, TOO_LARGE, TOO_LARGE, LAST_PAGE], ["last"], 4),
    "it stays behind": ([FIRST_PAGE, *[TOO_LARGE] * (PAGE_RETRIES_MAX + 1)], None, PAGE_RETRIES_MAX + 2),
    "the continuation has expired": ([FIRST_PAGE, answer(410, STATUS)], None, 2),
    "the first page is refused": ([TOO_LARGE], None, 1),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_asked_for_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, expected, requests = PAGES[name]
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(client, "sleep", sleep)
    answer, received = asked(tmp_path, lambda kube: kube.list(kinds.PODS), *answers)
    if expected is None:
        assert isinstance(answer, StatusError)
    else:
        assert [pod.metadata.name for pod in answer[1]] == expected
    assert len(received) == requests
    assert slept == [1.0] * min(PAGE_RETRIES_MAX, sum(entry is TOO_LARGE for entry in answers[1:]))


def test_the_version_of_a_kind_is_that_of_a_list_of_one_object(tmp_path: Path) -> None:
    page = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [{"spec": {}}]}
    answer_result, received = asked(
        tmp_path, lambda kube: kube.current_version(kinds.PODS), answer(200, page)
    )
    assert answer_result == "9"
    assert [r.target for r in received] == ["/api/v1/pods?limit=1"]


def test_an_empty_list_may_have_no_items(tmp_path: Path) -> None:
    answer_result, _ = asked(
        tmp_path,
        lambda kube: kube.list(kinds.PODS),
        answer(200, {"metadata": {"resourceVersion": "9"}, "items": None}),
    )
    assert answer_result == ("9", [])


@pytest.mark.parametrize(("code", "expected"), [(404, type(None)), (403, StatusError), (503, StatusError)])
def test_a_read(code: int, expected: type[Any], tmp_path: Path) -> None:
    answer_result, _ = asked(tmp_path, lambda kube: kube.read(kinds.PODS, "a/p"), answer(code, STATUS))
    assert isinstance(answer_result, expected)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(b"one\ntwo\n", [b"one", b"two"], id="whole lines"),
        pytest.param(b"one\n\ntwo", [b"one", b"", b"two"], id="an empty line, and one that continues"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_a_log_is_read_by_lines(text: bytes, lines: list[bytes], tmp_path: Path) -> None:
    async def read(kube: Kube) -> list[bytes]:
        return [line async for line in kube.log("a/p", {"tailLines": "2"})]

    answer_result, received = asked(tmp_path, read, answer(200, text))
    assert answer_result == lines
    assert [r.target for r in received] == ["/api/v1/namespaces/a/pods/p/log?tailLines=2"]


def test_text_of_another_path_is_read(tmp_path: Path) -> None:
    answer_result, received = asked(tmp_path, lambda kube: kube.text("/readyz"), answer(200, b"ok"))
    assert (answer_result, [r.target for r in received]) == ("ok", ["/readyz"])


def test_a_server_that_is_away_is_no_answer(tmp_path: Path) -> None:
    async def read() -> None:
        kube = Kube(kubeconfig(tmp_path, "http://127.0.0.1:1"))
        try:
            await kube.read(kinds.PODS, "a/p")
        finally:
            await kube.close()

    with pytest.raises(NoAnswer):
        asyncio.run(read())


RETRY_AFTER: dict[str, tuple[bytes, float]] = {
    "in the header": (answer(429, STATUS, Retry_After="3"), 3.0),
    "in the status": (answer(429, {"details": {"retryAfterSeconds": 2}}), 2.0),
    "a date": (answer(503, STATUS, Retry_After="Fri, 31 Dec 2027 23:59:59 GMT"), 0.0),
    "none": (answer(503, STATUS), 0.0),
}


@pytest.mark.parametrize("name", RETRY_AFTER)
def test_the_time_that_a_server_asks_for(name: str, tmp_path: Path) -> None:
    text, wanted_s = RETRY_AFTER[name]
    error, _ = asked(tmp_path, lambda kube: kube.list(kinds.PODS), text)
    assert error.retry_after_s == wanted_s


def test_a_rotated_token_is_read_again_when_it_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    async def work(kube: Kube) -> object:
        await kube.list(kinds.PODS)
        token.write_text("new\n")
        return await kube.list(kinds.PODS)

    empty = answer(200, {"metadata": {}})
    answer_result, received = asked(tmp_path, work, empty, answer(401), empty, user={"tokenFile": "token"})
    assert answer_result == ("", [])
    assert [r.headers["authorization"] for r in received] == ["Bearer old", "Bearer old", "Bearer new"]


def test_a_token_that_stays_refused_is_an_error(tmp_path: Path) -> None:
    user = {"token": "t"}
    error, received = asked(tmp_path, lambda kube: kube.list(kinds.PODS), answer(401, STATUS), user=user)
    assert isinstance(error, StatusError)
    assert error.code == 401
    assert len(received) == 1
