"""Small histories for tests of the comparison."""

from tests.fidelity.history import History, Holding, Job


def job(name: str, submit_s: float = 0, priority_class: str = "dev-priority", queue: str = "a") -> Job:
    return Job(name, submit_s, 10, 1, queue, priority_class)


def held(name: str, reserved_s: float, ended_s: float, *, preempted: bool = False) -> Holding:
    return Holding(name, reserved_s, None if preempted else reserved_s, ended_s, preempted)


def history(jobs: list[Job], *holdings: Holding, together_s: float = 0) -> History:
    return History("engine", tuple(jobs), holdings, together_s)
