"""An attempt of a job that is under way."""


class Running:
    """`row` is its row in the outcome's attempts, `started_ms` when its gang runs or will run (-1: unknown).
    `is_leaving`: it was preempted, and keeps its quota until its pods are gone."""

    __slots__ = ("is_leaving", "row", "started_ms", "work_ms")

    def __init__(self, row: int, work_ms: int) -> None:
        self.row, self.work_ms = row, work_ms
        self.started_ms, self.is_leaving = -1, False
