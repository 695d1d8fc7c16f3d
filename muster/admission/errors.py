"""What the core refuses: input that no API server would have accepted."""


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
        super().__init__(
            f"{text!r} is no quantity of {resource}: expected a number with an optional suffix, "
            "such as 500m, 4, 1.5Gi or 2e3"
        )
        self.text = text
