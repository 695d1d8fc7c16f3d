"""Errors of requests: no answer, or an error of the API server with its Status."""

import msgspec

from muster.objects.meta import View


class Cause(View):
    """The reason why a field is invalid."""

    field: str = ""
    message: str = ""


class Details(View):
    """The object of an error, and what is invalid in it."""

    name: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int | None = None


class Status(View):
    """metav1.Status, the body of an error."""

    code: int = 0
    message: str = ""
    details: Details | None = None


class ConfigError(ValueError):
    """The kubeconfig or the environment lacks a value, or has a wrong one: no connection is possible."""


class RequestError(Exception):
    """A request has no result."""


class NoAnswer(RequestError):
    """The API server cannot be reached, did not answer in time, or broke off its answer."""


class StatusError(RequestError):
    """An error of the API server, or of a proxy before it. `retry_after_s` is what it asks for, or 0."""

    def __init__(self, status: Status, retry_after_s: float = 0.0) -> None:
        super().__init__(f"{status.code} {status.message}".strip())
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code


def status_error(code: int, body: bytes, reason: str = "", retry_after: str = "") -> StatusError:
    """Returns the error of an answer with this HTTP status. Its body is a Status, unless a proxy wrote it, or
    no kind is served at the path. `retry_after` is a header, of which only seconds are understood."""
    status = Status(code=code, message=reason)
    try:
        status = msgspec.structs.replace(msgspec.json.decode(body, type=Status), code=code)
    except msgspec.DecodeError:
        status = Status(code=code, message=body[:200].decode(errors="replace").strip() or reason)
    header_s = (
        int(retry_after) if retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 6 else 0
    )
    status_s = (status.details.retry_after_seconds if status.details else None) or 0
    return StatusError(status, float(max(header_s, status_s)))
