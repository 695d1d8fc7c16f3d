"""Decodes YAML into a type."""

from typing import TypeVar

import msgspec

from muster.files.errors import FileError
from muster.files.yaml_documents import document
from muster.forecast.traces.trace import TraceError

T = TypeVar("T")


def decode(text: str, type: type[T], source: str, expected: str) -> T:
    """Returns the decoded value. Raises: TraceError, whose message ends with `expected`."""
    try:
        return msgspec.convert(document(text, source), type=type)
    except FileError as problem:
        raise TraceError(f"{problem}; {expected}") from problem
    except msgspec.MsgspecError as problem:
        raise TraceError(f"{source}: {problem}; {expected}") from problem
