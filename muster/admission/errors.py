"""What the core refuses: input that no API server would have accepted."""

SHOWN_LENGTH_MAX = 200  # of a text that can't be read: the API server takes no message of any length


class AdmissionError(ValueError):
    """Base of every error of the core."""


class SnapshotError(AdmissionError):
    """A snapshot that contradicts itself; says which object, which field, and what is expected."""

    def __init__(self, where: str, field: str, problem: str) -> None:
        super().__init__(f"{where}: {field}: {problem}")
        self.where = where
        self.field = field


class QuantityError(AdmissionError):
    """A text that is no Kubernetes quantity."""

    def __init__(self, resource: str, text: object) -> None:
        shown = repr(text) if len(str(text)) <= SHOWN_LENGTH_MAX else f"{str(text)[:SHOWN_LENGTH_MAX]!r}…"
        super().__init__(
            f"{shown} is no quantity of {resource}: expected a number with an optional suffix, "
            "such as 500m, 4, 1.5Gi or 2e3"
        )
        self.text = text
