"""A trace: jobs in order of submission, and the rows that could not be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster.admission import TopologyRequest
from muster.forecast.estimate_outcome import EstimateOutcome


@dataclass(frozen=True, slots=True)
class SizeDemand:
    """The pods that a worker group asks for from a time on, in milliseconds since the start of its job.

    Forecasts decide how many it gets; backtests read how many it had."""

    after_ms: int
    asked: int
    limited: bool = False  # it did not ask for another because no quota was free
    granted: int | None = None  # that held quota; None: not recorded


@dataclass(frozen=True, slots=True)
class TraceGroup:
    """A worker group of an autoscaled job; all numbers are of pods."""

    name: str
    requests: Mapping[str, int]  # of one pod
    minimum: int
    maximum: int
    replica: int
    demand: tuple[SizeDemand, ...]  # at least one, in order of time
    topology: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class TraceElastic:
    """An autoscaled job: its worker groups, and its other pods, which are alike."""

    pods: int  # 0: there are none
    requests: Mapping[str, int]  # of one pod
    groups: tuple[TraceGroup, ...]


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A job of a trace. All its pods are alike; an autoscaled job has the pods of its minimum."""

    name: str
    submit_ms: int  # since the start of the trace
    run_ms: int | None  # None: not recorded
    pods: int
    requests: Mapping[str, int]  # of one pod, by resource, in the core's units (milli-CPUs, bytes, pieces)
    # Names as in the trace, empty if it has none; `placement` maps them to the configuration.
    queue: str = ""
    priority_class: str = ""
    user: str = ""
    waited_ms: int | None = None  # recorded wait
    limit_ms: int | None = None  # run time limit that the user requested
    # Time in the queue until it was cancelled, if it never started; such a job has no recorded wait.
    cancelled_ms: int | None = None
    provisioning_ms: int | None = None  # recorded time from its quota reservation until its admission
    start_up_ms: int | None = None  # recorded time from its admission until its pods were ready
    flavor: str = ""  # recorded flavor of its accelerators
    elastic: TraceElastic | None = None  # None: its size is fixed
    topology: TopologyRequest | None = None  # of all its pods; of an autoscaled job, its groups have theirs
    estimates: tuple[EstimateOutcome, ...] = ()  # recorded estimates of its start


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is ignored."""

    where: str  # file:line
    problem: str  # what is wrong and what is expected


@dataclass(frozen=True, slots=True)
class BadReason:
    """Rows that are ignored for the same reason."""

    first: BadRow
    count: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The jobs of a file."""

    source: str
    # Sorted by `submit_ms`; the first is submitted at 0, unless `demand` omits it.
    jobs: Sequence[TraceJob]
    bad: tuple[BadRow, ...] = ()  # the first of `bad_count` rows that should be jobs but are invalid
    bad_count: int = 0
    bad_reasons: Mapping[str, BadReason] = field(default_factory=dict)  # all bad rows, by reason
    # Number of rows that are not jobs in this format, such as steps of a job, by reason.
    skipped: Mapping[str, int] = field(default_factory=dict)
    # Number of jobs that differ from the file, by change.
    adjusted: Mapping[str, int] = field(default_factory=dict)
    begins_ms: int | None = None  # Unix time of the start; None: unknown
    header: Mapping[str, str] = field(
        default_factory=dict
    )  # metadata of the file, such as the cluster's size
    # The jobs as recorded, if `jobs` are another demand; empty otherwise.
    measured: Sequence[TraceJob] = ()


class TraceError(ValueError):
    """A trace that cannot be read. The message names the problem, its place, and the expected value."""
