"""An attempt of a job that is under way."""


class Running:
    """`row` is its row in the outcome's attempts, `started_ms` when its gang runs or will run (-1: unknown).
    `is_leaving`: it was preempted, and keeps its quota until its pods are gone. Without `has_nodes`, the
    cluster autoscaler has to make nodes for it."""

    __slots__ = ("has_nodes", "is_leaving", "row", "started_ms", "work_ms")

    def __init__(self, row: int, work_ms: int) -> None:
        self.row, self.work_ms = row, work_ms
        self.started_ms, self.is_leaving, self.has_nodes = -1, False, True
