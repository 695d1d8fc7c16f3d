"""A trace: jobs in order of submission, and the rows that could not be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job as its trace tells it.

    `submit_ms` counts from the trace's beginning. `run_ms` is None where the trace does not tell how long the
    job ran. `queue` and `priority_class` are the trace's own words, empty without one; `placement` maps them
    to the configuration's. All `pods` are alike: `requests` is what one of them requests, by resource, in the
    core's units (milli-CPUs, bytes, pieces). `waited_ms` is the wait that the trace recorded, and `limit_ms`
    the run time that the user asked for, if any."""

    name: str
    submit_ms: int
    run_ms: int | None
    pods: int
    requests: Mapping[str, int]
    queue: str = ""
    priority_class: str = ""
    user: str = ""
    waited_ms: int | None = None
    limit_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is left out. `where` is `file:line`; `problem` says what is wrong and what is expected."""

    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class Trace:
    """`jobs` are sorted by `submit_ms`, and the first is submitted at 0.

    `skipped` counts rows that are no jobs by the format's rules (such as steps of a job), by reason. Of the
    `bad_count` rows that should be jobs and are not, `bad` holds the first. `adjusted` counts jobs that are
    not quite as in the file, by change. `begins_ms` is the Unix time of the beginning, None if not known.
    `header` is what the file says about itself, such as the size of its cluster."""

    source: str
    jobs: Sequence[TraceJob]
    bad: tuple[BadRow, ...] = ()
    bad_count: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    adjusted: Mapping[str, int] = field(default_factory=dict)
    begins_ms: int | None = None
    header: Mapping[str, str] = field(default_factory=dict)


class TraceError(ValueError):
    """A trace that cannot be read at all: what, where, what is expected."""
