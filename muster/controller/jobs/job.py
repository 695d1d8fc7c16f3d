"""What admission needs to know of a job, whatever its kind."""

from dataclasses import dataclass
from typing import Any, Protocol

from muster.controller.jobs.gang import Place
from muster.kube.kinds import Kind
from muster.objects.kueue import PRIORITY_LABEL, QUEUE_LABEL
from muster.objects.meta import ObjectMeta


@dataclass(frozen=True, slots=True)
class Outcome:
    succeeded: bool
    message: str


class Job(Protocol):
    """A view of one job object; all of it is read from the object, nothing is remembered."""

    @property
    def kind(self) -> Kind[Any]: ...
    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def managed(self) -> bool:
        """Ours to admit: in a queue, not part of another job, left to the stock operator."""
        ...

    @property
    def places(self) -> tuple[Place, ...]: ...
    @property
    def suspended(self) -> bool:
        """What its spec asks for."""
        ...

    @property
    def stopped(self) -> bool:
        """Its operator has let go of it: it makes no more pods. Those it made may still be leaving."""
        ...

    @property
    def running(self) -> bool: ...
    @property
    def outcome(self) -> Outcome | None: ...
    @property
    def refusal(self) -> str | None:
        """Why it can't be admitted as it is written."""
        ...

    @property
    def suspend_pointer(self) -> str: ...


def queue_name(job: Job) -> str:
    return job.metadata.labels.get(QUEUE_LABEL, "")


def priority_class(job: Job) -> str:
    return job.metadata.labels.get(PRIORITY_LABEL, "")


def in_queue(metadata: ObjectMeta) -> bool:
    return bool(metadata.labels.get(QUEUE_LABEL)) and metadata.controller is None
