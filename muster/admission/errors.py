"""Errors for invalid input, which an API server would have rejected."""

NAME_LENGTH_MAX = 317  # of a resource: a domain of 253 characters, a slash and 63 more
SHOWN_LENGTH_MAX = 64


class AdmissionError(ValueError):
    """Base class of the core's errors."""


class SnapshotError(AdmissionError):
    """An inconsistent snapshot; the message has the object, the field and what is expected."""

    def __init__(self, where: str, field: str, problem: str) -> None:
        super().__init__(f"{where}: {field}: {problem}")
        self.where = where
        self.field = field


class QuantityError(AdmissionError):
    """A text that is not a Kubernetes quantity."""

    def __init__(self, resource: str, text: object, expected: str = "") -> None:
        shown = _shown(text)
        expected = expected or "a number with an optional suffix, such as 500m, 4, 1.5Gi or 2e3"
        super().__init__(f"{shown} is not a quantity of {resource[:NAME_LENGTH_MAX]}: expected {expected}")


class QuantityTooLargeError(QuantityError):
    """A quantity that exceeds quantities.MAX."""

    def __init__(self, resource: str, text: object) -> None:
        super().__init__(resource, text, "at most 9223372036854775807 (2^63 - 1)")


def _shown(text: object) -> str:
    """Formats a value from users, shortened to fit into a condition's message."""
    if isinstance(text, int) and text.bit_length() > 256:
        return f"a number of {text.bit_length()} bits"
    shown = repr(text[: SHOWN_LENGTH_MAX + 1] if isinstance(text, str) else text)
    return shown if len(shown) <= SHOWN_LENGTH_MAX + 2 else f"{shown[:SHOWN_LENGTH_MAX]}…"
