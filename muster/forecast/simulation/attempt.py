"""An attempt of a job in progress."""


class Running:
    """An attempt that holds quota."""

    __slots__ = ("has_nodes", "is_terminating", "row", "started_ms", "work_ms")

    def __init__(self, row: int, work_ms: int) -> None:
        self.row = row  # in the outcome's attempts
        self.work_ms = work_ms
        self.started_ms = -1  # when the gang starts; -1: unknown
        self.is_terminating = False  # preempted, and holds quota until its pods have terminated
        self.has_nodes = True  # False: the cluster autoscaler must add nodes
