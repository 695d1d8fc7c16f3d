"""Requests to a busy API server are retried, and take effect once."""

from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from lightkube import ApiError

from sandbox.cluster import kinds
from tests.conformance.differential import patience
from tests.conformance.differential.patience import TRIES_MAX, PatientClient


def refusal(code: int) -> ApiError:
    request = httpx2.Request("GET", "http://api")
    status = {"code": code, "reason": "x", "message": "no", "status": "Failure", "metadata": {}}
    return ApiError(request, httpx2.Response(code, request=request, json=status))


class Server:
    """Gives these answers in order; exceptions are raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def __getattr__(self, verb: str) -> Any:
        def ask(*_: Any, **__: Any) -> Any:
            self.asked.append(verb)
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WAIT_SECONDS", 0.0)


def client(server: Server) -> PatientClient:
    return PatientClient(server)  # type: ignore[arg-type]


LATE = httpx2.ReadTimeout("late")
MADE = {"metadata": {"name": "w0", "namespace": "ns"}}


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([MADE], ["create"], id="immediately"),
        pytest.param([LATE, MADE], ["create"] * 2, id="after a timeout"),
        pytest.param([refusal(429), refusal(503), MADE], ["create"] * 3, id="after refusals"),
        pytest.param(
            [LATE, refusal(409), MADE], ["create", "create", "get"], id="created by the first request"
        ),
    ],
)
def test_create_is_retried_and_takes_effect_once(answers: Iterable[Any], asked: list[str]) -> None:
    server = Server(*answers)
    assert client(server).create(kinds.Workload(MADE)) == MADE
    assert server.asked == asked


def test_errors_are_not_retried() -> None:
    server = Server(refusal(422))
    with pytest.raises(ApiError):
        client(server).create(kinds.Workload(MADE))
    assert server.asked == ["create"]


def test_retries_end() -> None:
    server = Server(*[LATE] * TRIES_MAX)
    with pytest.raises(httpx2.ReadTimeout):
        client(server).read(kinds.Workload, "w0", "ns")
    assert len(server.asked) == TRIES_MAX


@pytest.mark.parametrize(
    ("answers", "changed"),
    [
        pytest.param([MADE], MADE, id="written"),
        pytest.param([LATE, refusal(409)], None, id="another version"),
        pytest.param([refusal(404)], None, id="gone"),
    ],
)
def test_a_status_write_is_retried_unless_it_conflicts(answers: Iterable[Any], changed: Any) -> None:
    assert client(Server(*answers)).merge_status(kinds.Workload, "w0", "ns", {}) == changed


def test_a_refused_status_is_an_error() -> None:
    with pytest.raises(ApiError):
        client(Server(refusal(422))).merge_status(kinds.Workload, "w0", "ns", {})


def test_a_deletion_is_retried_until_it_is_gone() -> None:
    server = Server(LATE, refusal(404))
    client(server).delete(kinds.Workload, "w0", "ns")
    assert server.asked == ["delete"] * 2
