"""Slurm's accounting: jobs, steps, arrays, requeued jobs, bad lines."""

import pytest

from muster.forecast.traces import sacct
from muster.forecast.traces.pod_sets import MERGED
from muster.forecast.traces.rows import ROUNDED
from muster.forecast.traces.sacct import SacctOptions
from muster.forecast.traces.trace import TraceError, TraceJob
from tests.unit.forecast.traces.builders import GIB, GPU, QUANTITY, job, problems

COLUMNS = sacct.FORMAT.split(",")
HEADER = "|".join(COLUMNS)


def at(seconds: int) -> str:
    return f"2026-03-01T10:{seconds // 60:02}:{seconds % 60:02}"


def line(**values: object) -> str:
    """A line of a job that ran from second 5 to 65 on one GPU, with other values where given."""
    default_columns: dict[str, object] = {
        "JobID": 1,
        "Submit": at(0),
        "Eligible": at(0),
        "Start": at(5),
        "End": at(65),
        "State": "COMPLETED",
        "ReqTRES": "gres/gpu=1,node=1",
    }
    return "|".join(str((default_columns | values).get(column, "")) for column in COLUMNS)


JOBS: dict[str, tuple[str, TraceJob]] = {
    "all that is used": (
        line(
            JobID=123,
            Timelimit="1-02:03:04",
            ReqTRES="billing=64,cpu=64,gres/gpu=16,mem=512G,node=2",
            Partition="batch",
            QOS="high",
            User="ada",
            Account="research",
        ),
        job(
            "123",
            pods=2,
            requests={"cpu": 32_000, GPU: 8, "memory": 256 * GIB},
            queue="batch",
            priority_class="high",
            user="ada",
            waited_ms=5_000,
            limit_ms=93_784_000,
        ),
    ),
    "it is pending": (line(Start="Unknown", End="Unknown", State="PENDING"), job(run=None)),
    "it runs on": (line(End="Unknown", State="RUNNING"), job(run=None, waited_ms=5_000)),
    "cancelled before it ran": (
        line(Start="None", State="CANCELLED by 1000"),
        job(run=None, cancelled_ms=65_000),
    ),
    "cancelled before it ran, in older versions": (
        line(Start=at(9), End=at(9), State="CANCELLED by 1000"),
        job(run=None, cancelled_ms=9_000),
    ),
    "cancelled before it became eligible": (
        line(Start="None", End=at(2), Eligible=at(3), State="CANCELLED"),
        job(run=None, cancelled_ms=0),
    ),
    "it waits for a dependency first": (line(Eligible=at(3)), job(waited_ms=2_000)),
    "GPUs by model": (
        line(ReqTRES="gres/gpu:a100=3,gres/gpu:h100=1"),
        job(requests={GPU: 4}, waited_ms=5_000),
    ),
    "GPUs in total and by model": (
        line(ReqTRES="gres/gpu:a100=4,gres/gpu=4"),
        job(requests={GPU: 4}, waited_ms=5_000),
    ),
    "nodes of another column": (
        line(ReqTRES="gres/gpu=4", NNodes=2),
        job(pods=2, requests={GPU: 2}, waited_ms=5_000),
    ),
    "memory in MiB": (line(ReqTRES="mem=1024"), job(requests={"memory": GIB}, waited_ms=5_000)),
    "memory in T": (line(ReqTRES="mem=1.50T"), job(requests={"memory": 1536 * GIB}, waited_ms=5_000)),
    "no limit": (line(Timelimit="UNLIMITED"), job(waited_ms=5_000)),
    "a limit of minutes": (line(Timelimit="30:00"), job(waited_ms=5_000, limit_ms=1_800_000)),
    "the account for want of a user": (line(Account="research"), job(user="research", waited_ms=5_000)),
    "a task of an array": (line(JobID="12_3"), job("12_3", waited_ms=5_000)),
    "times in seconds since 1970": (
        line(Submit="1000", Eligible="1000", Start="1005", End="1065"),
        job(waited_ms=5_000),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_sacct_line_is_read_as_a_job(name: str) -> None:
    text, expected = JOBS[name]
    trace = sacct.read([HEADER, text], "sacct.txt")
    assert (list(trace.jobs), problems(trace)) == ([expected], [])


BAD_LINES = {
    "a job name with a bar in it": (line(Partition="a|b"), "2: 14 columns: expected 13, as in the header"),
    "no submit time": (
        line(Submit="Unknown"),
        "2: Submit is 'Unknown': expected a time in ISO 8601, such as 2026-03-01T09:30:00",
    ),
    "it ends before it starts": (line(End=at(2)), "2: the run time is negative: End is 3 s before Start"),
    "it starts before it is submitted": (
        line(Submit=at(9)),
        "2: the wait is negative: Start is 4 s before Submit",
    ),
    "no resources": (line(ReqTRES=""), "2: TRES '': expected cpu, mem or gres/gpu"),
    "resources without a value": (line(ReqTRES="cpu"), "2: TRES 'cpu': expected name=value, such as cpu=8"),
    "no nodes": (line(ReqTRES="cpu=1,node=0"), "2: node is '0': expected 1 to 2,147,483,647"),
    "GPUs is a word": (
        line(ReqTRES="gres/gpu=all"),
        f"2: 'all' is not a quantity of gres/gpu: expected {QUANTITY}",
    ),
    "memory in another unit": (line(ReqTRES="mem=5X"), "2: mem is '5X': expected an amount such as 64G"),
    "a limit that is none": (
        line(Timelimit="soon"),
        "2: Timelimit is 'soon': expected [days-]hours:minutes:seconds",
    ),
    "tasks that are cut off": (
        line(JobID="7_[1,3,..."),
        "2: JobID '7_[1,3,...': the list of tasks is cut off; run sacct with --array",
    ),
    "tasks that are no numbers": (
        line(JobID="7_[a-c]"),
        "2: JobID '7_[a-c]': expected tasks such as 123_[1-3,7]",
    ),
    "more tasks than Slurm has": (
        line(JobID="7_[0-9999999]"),
        "2: JobID '7_[0-9999999]': more than 100,000 tasks",
    ),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_sacct_line_is_left_out_and_explained(name: str) -> None:
    text, expected = BAD_LINES[name]
    trace = sacct.read([HEADER, text, line(JobID=2)], "sacct.txt")
    assert problems(trace) == [expected]
    assert [job.name for job in trace.jobs] == ["2"]


def test_steps_of_a_job_are_skipped() -> None:
    lines = [HEADER, line(), line(JobID="1.batch"), line(JobID="1.extern"), line(JobID="1.0")]
    trace = sacct.read(lines, "sacct.txt")
    assert (len(trace.jobs), trace.skipped) == (1, {"step of a job": 3})


def test_pending_tasks_of_an_array_are_a_job_each() -> None:
    pending = line(JobID="7_[1-3,8,10-20:5%2]", Start="Unknown", End="Unknown", State="PENDING")
    trace = sacct.read([HEADER, pending], "sacct.txt")
    assert [job.name for job in trace.jobs] == ["7_1", "7_2", "7_3", "7_8", "7_10", "7_15", "7_20"]


def test_job_that_never_became_eligible_is_skipped() -> None:
    held = line(Eligible="Unknown", Start="Unknown", End="Unknown", State="CANCELLED")
    trace = sacct.read([HEADER, held], "sacct.txt")
    assert (list(trace.jobs), trace.skipped) == ([], {"never became eligible": 1})


def test_requeued_job_is_one_job_with_its_first_submission_and_last_run() -> None:
    lines = [
        HEADER,
        line(State="PREEMPTED", End=at(20)),
        line(State="NODE_FAIL", Submit=at(20), Eligible=at(20), Start=at(30), End=at(40)),
        line(Submit=at(40), Eligible=at(40), Start=at(60), End=at(160)),
    ]
    trace = sacct.read(lines, "sacct.txt")
    assert list(trace.jobs) == [job(run=100, waited_ms=5_000)]
    assert trace.skipped == {"earlier attempt of a requeued job": 2}


def test_requeued_job_that_is_cancelled_while_it_waits_again_ran_before() -> None:
    lines = [
        HEADER,
        line(State="PREEMPTED", End=at(20)),
        line(Submit=at(20), Eligible=at(20), Start="None", End=at(40), State="CANCELLED by 7"),
    ]
    assert list(sacct.read(lines, "sacct.txt").jobs) == [job(run=15, waited_ms=5_000)]


def test_job_whose_last_attempt_was_preempted_is_kept() -> None:
    trace = sacct.read([HEADER, line(State="PREEMPTED")], "sacct.txt")
    assert list(trace.jobs) == [job(waited_ms=5_000)]


def test_resources_that_do_not_divide_by_the_nodes_are_rounded_up() -> None:
    trace = sacct.read([HEADER, line(ReqTRES="gres/gpu=3,node=2")], "sacct.txt")
    assert list(trace.jobs) == [job(pods=2, requests={GPU: 2}, waited_ms=5_000)]
    assert trace.adjusted == {ROUNDED: 1}


def test_allocated_resources_count_if_none_were_requested() -> None:
    columns = "jobid|submit|start|end|reqtres|alloctres"
    trace = sacct.read([columns, f"1|{at(0)}|{at(5)}|{at(65)}||gres/gpu=2"], "sacct.txt")
    assert list(trace.jobs) == [job(requests={GPU: 2}, waited_ms=5_000)]


GRES = {
    "GPUs": ("cpu=8,node=2", "gpu:4", {"cpu": 4_000, GPU: 2}),
    "GPUs by model, with sockets": ("cpu=8", "gpu:a100:3(S:0-1),gpu:h100:1,nvme:9", {"cpu": 8_000, GPU: 4}),
    "one GPU": ("", "gpu", {GPU: 1}),
    "GPUs of the TRES first": ("gres/gpu=2", "gpu:4", {GPU: 2}),
}


@pytest.mark.parametrize("name", GRES)
def test_gpus_of_older_versions_are_in_another_column(name: str) -> None:
    tres, gres, expected = GRES[name]
    columns = "JobID|Submit|Start|End|AllocTRES|AllocGRES"
    (read_job,) = sacct.read([columns, f"1|{at(0)}|{at(5)}|{at(65)}|{tres}|{gres}"], "sacct.txt").jobs
    assert read_job.requests == expected


def test_heterogeneous_job_is_one_gang() -> None:
    lines = [
        HEADER,
        line(JobID="1007+0", ReqTRES="cpu=16,node=1", End=at(60)),
        line(JobID="1007+1", ReqTRES="cpu=16,gres/gpu=8,node=2"),
        line(JobID="1007+1.batch"),
        line(JobID="1008"),
    ]
    trace = sacct.read(lines, "sacct.txt")
    assert list(trace.jobs) == [
        job("1008", waited_ms=5_000),
        job("1007", pods=2, requests={"cpu": 16_000, GPU: 4}, waited_ms=5_000),
    ]
    assert trace.adjusted == {MERGED: 1}


def test_queue_is_the_column_of_the_options() -> None:
    trace = sacct.read([HEADER, line(Account="research")], "sacct.txt", SacctOptions(queue="Account"))
    assert trace.jobs[0].queue == "research"


def test_trace_begins_at_the_first_submission() -> None:
    trace = sacct.read([HEADER, line()], "sacct.txt")
    assert trace.begins_ms == 1_772_359_200_000


@pytest.mark.parametrize(
    ("header", "lacks"),
    [("JobID|Start|ReqTRES", "Submit, End"), ("JobID|Submit|Start|End|State", "ReqTRES")],
)
def test_missing_columns_are_named_with_the_command_that_prints_them(header: str, lacks: str) -> None:
    with pytest.raises(
        TraceError, match=f"sacct's output lacks {lacks}; run sacct --parsable2 .*--format=JobID,"
    ):
        sacct.read([header], "sacct.txt")
