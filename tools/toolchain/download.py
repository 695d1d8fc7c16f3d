"""Downloads a file whose checksum is known: with time limits, resumption and verification."""

import hashlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO

from tools.toolchain.paths import cache_directory

BLOCK_BYTES = 1 << 20
RETRIED = {408, 429, 500, 502, 503, 504}
"""Statuses after which a server may answer a repeated request."""


@dataclass(frozen=True)
class Limits:
    """The bounds of a download.

    `probe_seconds` is the time limit for a host's first answer; `stall_seconds` the longest time without a
    byte; `seconds` the time of one file, over all `attempts`.
    """

    probe_seconds: float = 3.0
    stall_seconds: float = 15.0
    seconds: float = 300.0
    attempts: int = 3


class DownloadError(Exception):
    """A file that could not be downloaded; the message contains its address."""


def unreachable(urls: Collection[str], limits: Limits) -> dict[str, str]:
    """Returns the addresses whose host does not answer, with the reason.

    Sends all requests in parallel. Name resolution ignores timeouts, so each runs in a thread that is not
    joined.
    """
    reasons = dict.fromkeys(urls, f"no answer within {limits.probe_seconds:.0f} s")

    def ask(url: str) -> None:
        try:
            with urllib.request.urlopen(url, timeout=limits.probe_seconds):
                reason = ""
        except urllib.error.HTTPError as error:
            reason = "" if error.code in (404, 410) else f"HTTP {error.code}"  # 404: the host answers
        except (OSError, HTTPException) as error:
            reason = _reason(error)
        reasons[url] = reason

    threads = [threading.Thread(target=ask, args=(url,), daemon=True) for url in urls]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limits.probe_seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {url: reason for url, reason in reasons.items() if reason}


def fetch(
    url: str,
    sha256: str,
    limits: Limits,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int], None] = lambda _bytes: None,
    accept: str = "*/*",
) -> Path:
    """Returns the verified file in the cache; a partial file is kept, so that the next run resumes it.

    Raises DownloadError if the file is not available within the limits, or is not the expected one; that is
    deleted. `progress` receives the size of the file so far. `accept` lists media types.
    """
    partial = cache_directory() / "downloads" / sha256
    partial.parent.mkdir(parents=True, exist_ok=True)
    request = urllib.request.Request(url, headers={"Accept": accept})
    deadline = clock() + limits.seconds
    reason = ""
    for _ in range(limits.attempts):
        try:
            _receive(request, partial, limits, lambda: clock() < deadline, progress)
            break
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code}"
            if error.code not in RETRIED:
                raise DownloadError(f"{url}: {reason}") from error
        except (OSError, HTTPException) as error:
            reason = _reason(error)
    else:
        raise DownloadError(f"{url}: {reason}, {limits.attempts} times")
    if (actual := checksum(partial)) != sha256:
        partial.unlink()
        raise DownloadError(f"{url}: sha256 is {actual}, expected {sha256}; the file was deleted")
    return partial


def checksum(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(
    request: urllib.request.Request,
    partial: Path,
    limits: Limits,
    in_time: Callable[[], bool],
    progress: Callable[[int], None],
) -> None:
    """Appends the missing bytes to the partial file. Raises OSError if it ends early."""
    start = partial.stat().st_size if partial.exists() else 0
    request.remove_header("Range")
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        response = urllib.request.urlopen(request, timeout=limits.stall_seconds)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # no bytes remain: the file is complete, or not the expected one
            return
        raise
    with response:
        resumed = response.status == 206
        with partial.open("ab" if resumed else "wb") as file:
            received = _copy(response, file, request.full_url, limits, in_time, progress)
        expected = response.headers["Content-Length"]
    if expected is not None and received < int(expected):
        raise OSError(f"the connection ended after {received} of {expected} bytes")


def _copy(
    response: HTTPResponse,
    file: IO[bytes],
    url: str,
    limits: Limits,
    in_time: Callable[[], bool],
    progress: Callable[[int], None],
) -> int:
    received = 0
    while block := response.read1(BLOCK_BYTES):  # not read(), which waits for a whole block
        file.write(block)
        received += len(block)
        progress(file.tell())
        if not in_time():
            raise DownloadError(f"{url}: incomplete after {limits.seconds:.0f} s, {file.tell()} bytes")
    return received


def _reason(error: Exception) -> str:
    cause = getattr(error, "reason", None) or error
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
