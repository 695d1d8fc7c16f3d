"""Decodes YAML into a type. The controller does not depend on PyYAML: it is needed once YAML is read."""

from typing import TypeVar

import msgspec

from muster.forecast.traces.trace import TraceError

T = TypeVar("T")


def decode(text: str, type: type[T], source: str, expected: str) -> T:
    """Returns the value in `text`; raises TraceError, which ends with what is expected, if it is no such."""
    try:
        return msgspec.yaml.decode(text, type=type)
    except ImportError as problem:
        raise TraceError(f"{source}: reading YAML needs PyYAML: pip install PyYAML") from problem
    except msgspec.MsgspecError as problem:
        raise TraceError(f"{source}: {problem}; {expected}") from problem
