"""One fault that keeps jobs from being admitted, or that no controller will correct."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` is one word for its kind, `subject` the object."""

    check: str
    subject: str
    fault: str
    remedy: str
