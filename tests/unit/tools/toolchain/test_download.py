"""Downloads from a host that truncates, stalls, refuses or lies: bounded, resumed and verified."""

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.tools.toolchain.release_host import Answer, ReleaseHost, release_host
from tools.toolchain.download import DownloadError, Limits, fetch, unreachable

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()
LIMITS = Limits(probe_seconds=2.0, stall_seconds=2.0, seconds=60.0, attempts=3)
IMPATIENT = Limits(stall_seconds=0.05, attempts=2)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseHost]:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with release_host(tool=CONTENT) as running:
        yield running


HALF = len(CONTENT) // 2
TRUNCATED = Answer(bytes_sent=HALF)


@pytest.mark.parametrize(
    ("answers", "ranges"),
    [
        pytest.param([Answer()], [""], id="whole"),
        pytest.param([TRUNCATED, Answer()], ["", f"bytes={HALF}-"], id="truncated-then-resumed"),
        pytest.param(
            [TRUNCATED, Answer(ranges=False)],
            ["", f"bytes={HALF}-"],
            id="truncated-then-whole",
        ),
        pytest.param(
            [TRUNCATED, Answer(ranges=False, bytes_sent=0), Answer()],
            ["", f"bytes={HALF}-", ""],
            id="begun-again-and-truncated",
        ),
        pytest.param([Answer(503), Answer(429), Answer()], ["", "", ""], id="busy-then-whole"),
        pytest.param(
            [Answer(bytes_sent=HALF, stalls=True), Answer()], ["", f"bytes={HALF}-"], id="stalls-then-resumed"
        ),
    ],
)
def test_a_file_arrives_despite(host: ReleaseHost, answers: list[Answer], ranges: list[str]) -> None:
    host.answers["/tool"] = answers
    limits = IMPATIENT if any(answer.stalls for answer in answers) else LIMITS
    assert fetch(f"{host.address}/tool", SHA256, limits).read_bytes() == CONTENT
    assert [asked for _, asked in host.requests] == ranges


@pytest.mark.parametrize(
    ("answers", "message", "requests"),
    [
        pytest.param([Answer(404)], "HTTP 404", 1, id="absent"),
        pytest.param([Answer(403)], "HTTP 403", 1, id="forbidden"),
        pytest.param([Answer(503)], "HTTP 503, 3 times", 3, id="busy"),
        pytest.param([Answer(bytes_sent=0)], "0 of 10240 bytes, 3 times", 3, id="always-truncated"),
    ],
)
def test_a_failed_download_names_the_cause(
    host: ReleaseHost, answers: list[Answer], message: str, requests: int
) -> None:
    host.answers["/tool"] = answers
    with pytest.raises(DownloadError, match=f"^{host.address}/tool: .*{message}"):
        fetch(f"{host.address}/tool", SHA256, LIMITS)
    assert len(host.requests) == requests


def test_a_file_with_another_checksum_is_deleted(host: ReleaseHost, tmp_path: Path) -> None:
    expected = hashlib.sha256(b"another file").hexdigest()
    with pytest.raises(DownloadError, match=f"/tool: sha256 is {SHA256}, expected {expected}"):
        fetch(f"{host.address}/tool", expected, LIMITS)
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_stalled_download_ends(host: ReleaseHost) -> None:
    host.answers["/tool"] = [Answer(bytes_sent=0, stalls=True)]
    with pytest.raises(DownloadError, match="timed out, 2 times"):
        fetch(f"{host.address}/tool", SHA256, IMPATIENT)


def test_a_slow_download_ends_and_the_next_run_resumes_it(host: ReleaseHost) -> None:
    host.answers["/tool"] = [TRUNCATED, Answer()]
    minutes = iter(range(0, 600, 60))
    with pytest.raises(DownloadError, match=f"incomplete after 60 s, {HALF} bytes"):
        fetch(f"{host.address}/tool", SHA256, LIMITS, clock=lambda: next(minutes))
    assert fetch(f"{host.address}/tool", SHA256, LIMITS).read_bytes() == CONTENT
    assert [asked for _, asked in host.requests] == ["", f"bytes={HALF}-"]


@pytest.mark.parametrize("leftover", [CONTENT, CONTENT + b"more"], ids=["complete", "too-long"])
def test_a_leftover_of_a_killed_run_is_verified(host: ReleaseHost, tmp_path: Path, leftover: bytes) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / SHA256).write_bytes(leftover)
    if leftover == CONTENT:
        assert fetch(f"{host.address}/tool", SHA256, LIMITS).read_bytes() == CONTENT
    else:
        with pytest.raises(DownloadError, match="the file was deleted"):
            fetch(f"{host.address}/tool", SHA256, LIMITS)
        assert fetch(f"{host.address}/tool", SHA256, LIMITS).read_bytes() == CONTENT


def test_hosts_that_do_not_answer_are_named_with_the_reason(host: ReleaseHost) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        refused = f"http://127.0.0.1:{closed.getsockname()[1]}/tool"
        host.files["/forbidden"] = CONTENT
        host.answers["/forbidden"] = [Answer(403)]
        present, absent, forbidden = (f"{host.address}/{name}" for name in ("tool", "absent", "forbidden"))
        reasons = unreachable([present, absent, forbidden, refused], LIMITS)
    assert reasons == {forbidden: "HTTP 403", refused: "Connection refused"}


def test_a_host_that_accepts_and_says_nothing_costs_the_probe_alone(host: ReleaseHost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/tool"
        assert list(unreachable([url], Limits(probe_seconds=0.05))) == [url]
