"""Traces as CSV under a mapping of columns: jobs, presets of public traces, bad rows, writing."""

import pytest

from muster.admission import TopologyRequest
from muster.forecast.traces import csv_rows
from muster.forecast.traces.csv_mapping import PRESETS, from_text
from muster.forecast.traces.rows import ROUNDED
from muster.forecast.traces.trace import TraceError, TraceJob
from tests.unit.forecast.traces.builders import GIB, GPU, QUANTITY, job, problems

MAPPING = from_text("name=id,submit=created,start=begun,end=over,pods=pods,gpus=gpus")
HEADER = "id,created,begun,over,pods,gpus"

JOBS: dict[str, tuple[str, TraceJob]] = {
    "run time and wait from start and end": (
        "a,0,5,65,2,8",
        job("a", pods=2, requests={GPU: 8}, waited_ms=5_000),
    ),
    "it never started": ("a,0,,65,1,1", job("a", run=None, cancelled_ms=65_000)),
    "it runs on": ("a,0,5,,1,1", job("a", run=None, waited_ms=5_000)),
    "other words for no value": ("a,0,None,NaN,1,1", job("a", run=None)),
    "it ran for no time": ("a,0,5,5,1,1", job("a", run=0, waited_ms=5_000)),
    "no number of pods is one pod": ("a,0,5,65,,1", job("a", waited_ms=5_000)),
    "numbers with decimals": ("a,0.0,5.5,65.5,2.0,1.0", job("a", pods=2, waited_ms=5_500)),
    "a name in quotes": ('"a, the ""first""",0,5,65,1,1', job('a, the "first"', waited_ms=5_000)),
    "times in ISO 8601": (
        "a,2026-03-01 09:00:00,2026-03-01T09:00:05Z,2026-03-01T10:01:05+01:00,1,1",
        job("a", waited_ms=5_000),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_csv_row_is_read_as_a_job(name: str) -> None:
    row, expected = JOBS[name]
    trace = csv_rows.read([HEADER, row], "jobs.csv", MAPPING)
    assert (list(trace.jobs), problems(trace)) == ([expected], [])


TOPOLOGIES: dict[str, tuple[str, TopologyRequest | None]] = {
    "a required level": ("a,0,9,1,rack,", TopologyRequest(required="rack")),
    "a preferred level": ("a,0,9,1,,block", TopologyRequest(preferred="block")),
    "no level": ("a,0,9,1,,", None),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_columns_have_topology_requests(name: str) -> None:
    row, expected = TOPOLOGIES[name]
    mapping = from_text("name=id,submit=at,run=s,gpus=g,requiredTopology=req,preferredTopology=pref")
    (read,) = csv_rows.read(["id,at,s,g,req,pref", row], "jobs.csv", mapping).jobs
    assert read.topology == expected


BAD_ROWS = {
    "too few columns": ("a,0", "2: 2 columns: expected 6, as in the header"),
    "too many columns": ("a,0,5,65,1,1,1", "2: 7 columns: expected 6, as in the header"),
    "no submit time": ("a,,5,65,1,1", "2: submit is '': expected a number"),
    "submit time is a word": ("a,monday,5,65,1,1", "2: submit is 'monday': expected a number"),
    "submit time is no date": (
        "a,2026-13-01,5,65,1,1",
        "2: submit is '2026-13-01': expected a time in ISO 8601, such as 2026-03-01T09:30:00",
    ),
    "it starts before it is submitted": (
        "a,9,5,65,1,1",
        "2: the wait is negative: start is 4 s before submit",
    ),
    "it ends before it starts": ("a,0,70,65,1,1", "2: the run time is negative: end is 5 s before start"),
    "it is deleted before it is submitted": (
        "a,70,,65,1,1",
        "2: the job's time is negative: end is 5 s before submit",
    ),
    "no pods": ("a,0,5,65,0,1", "2: pods is '0': expected 1 to 2,147,483,647"),
    "half a pod": ("a,0,5,65,1.5,1", "2: pods is '1.5': expected a whole number"),
    "pods is a word": ("a,0,5,65,many,1", "2: pods is 'many': expected a number"),
    "GPUs is a word": (
        "a,0,5,65,1,V100",
        f"2: 'V100' is not a quantity of gpus: expected {QUANTITY}",
    ),
    "negative GPUs": ("a,0,5,65,1,-2", "2: gpus is '-2': expected 0 or more"),
    "no requests at all": (
        "a,0,5,65,1,0",
        "2: the job requests nothing: expected an amount of nvidia.com/gpu",
    ),
    "more GPUs than can be counted": (
        "a,0,5,65,1,9223372036854775808",
        "2: '9223372036854775808' is not a quantity of gpus: expected at most 9223372036854775807 (2^63 - 1)",
    ),
    "an open quote": (
        '"a,0,5,65,1,1',
        "2: unexpected end of data: expected comma-separated values, with quotes doubled in quotes",
    ),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_csv_row_is_left_out_and_explained(name: str) -> None:
    row, expected = BAD_ROWS[name]
    trace = csv_rows.read([HEADER, row, "b,3,5,65,1,1"], "jobs.csv", MAPPING)
    assert problems(trace) == [expected]
    assert trace.bad[0].where == "jobs.csv:2"
    assert [job.name for job in trace.jobs] == ["b"]


OTHER_COLUMNS: dict[str, tuple[str, str, str, TraceJob]] = {
    "its own run time": ("submit=t,run=d,gpus=g", "t,d,g", "0,60,1", job("row-2")),
    "times in milliseconds": ("submit=t:ms,run=d:ms,gpus=g", "t,d,g", "0,60000,1", job("row-2")),
    "a wait and a limit": (
        "submit=t,wait=w,run=d,limit=l,gpus=g",
        "t,w,d,l,g",
        "0,7,60,90,1",
        job("row-2", waited_ms=7_000, limit_ms=90_000),
    ),
    "queue, class and user": (
        "submit=t,run=d,gpus=g,queue=q,class=c,user=u",
        "t,d,g,q,c,u",
        "0,60,1,research,high,ada",
        job("row-2", queue="research", priority_class="high", user="ada"),
    ),
    "units of CPUs and memory": (
        "submit=t,run=d,cpus=c:m,memory=m:Mi",
        "t,d,c,m",
        "0,60,1500,1024",
        job("row-2", requests={"cpu": 1500, "memory": GIB}),
    ),
    "quantities with Kubernetes' suffixes": (
        "submit=t,run=d,cpu=c,memory=m",
        "t,d,c,m",
        "0,60,500m,1Gi",
        job("row-2", requests={"cpu": 500, "memory": GIB}),
    ),
    "another accelerator": (
        "submit=t,run=d,google.com/tpu=chips",
        "t,d,chips",
        "0,60,4",
        job("row-2", requests={"google.com/tpu": 4}),
    ),
    "totals of all pods": (
        "submit=t,run=d,pods=n,gpus=g,totals=true",
        "t,d,n,g",
        "0,60,4,32",
        job("row-2", pods=4, requests={GPU: 8}),
    ),
    "columns that are not mapped": ("submit=t,run=d,gpus=g", "x,t,y,d,g", "?,0,?,60,1", job("row-2")),
    "a column with a colon in its name": ("submit=t:0,run=d,gpus=g", "t:0,d,g", "0,60,1", job("row-2")),
    "a name of two columns": ("name=a/b,submit=t,run=d,gpus=g", "a,b,t,d,g", "x,y,0,60,1", job("x/y")),
}


@pytest.mark.parametrize("name", OTHER_COLUMNS)
def test_mapping_says_which_column_is_which(name: str) -> None:
    mapping, header, row, expected = OTHER_COLUMNS[name]
    trace = csv_rows.read([header, row], "jobs.csv", from_text(mapping))
    assert (list(trace.jobs), problems(trace)) == ([expected], [])


ROUNDED_ROWS: dict[str, tuple[str, str, str, TraceJob]] = {
    "a part of a GPU": ("submit=t,run=d,gpus=g:%", "t,d,g", "0,60,25", job("row-2")),
    "a share of each GPU": ("submit=t,run=d,gpus=g,gpuShare=s:m", "t,d,g,s", "0,60,1,460", job("row-2")),
    "GPUs that do not divide by the pods": (
        "submit=t,run=d,pods=n,gpus=g,totals=true",
        "t,d,n,g",
        "0,60,3,8",
        job("row-2", pods=3, requests={GPU: 3}),
    ),
}


@pytest.mark.parametrize("name", ROUNDED_ROWS)
def test_request_that_is_no_whole_number_is_rounded_up_and_counted(name: str) -> None:
    mapping, header, row, expected = ROUNDED_ROWS[name]
    trace = csv_rows.read([header, row], "jobs.csv", from_text(mapping))
    assert (list(trace.jobs), trace.adjusted) == ([expected], {ROUNDED: 1})


OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
PUBLIC: dict[str, tuple[list[str], str, TraceJob]] = {
    "openb": (
        [OPENB, "p,12000,16384,1,1000,,LS,Running,10,100,40"],
        "",
        job("p", requests={GPU: 1, "cpu": 12_000, "memory": 16 * GIB}, priority_class="LS", waited_ms=30_000),
    ),
    "openb without GPUs": (
        [OPENB, "p,2000,1024,0,0,,BE,Succeeded,10,100,40"],
        "",
        job("p", requests={"cpu": 2_000, "memory": GIB}, priority_class="BE", waited_ms=30_000),
    ),
    "openb, never scheduled": (
        [OPENB, "p,12000,16384,1,1000,,LS,Pending,10,100,"],
        "",
        job(
            "p",
            run=None,
            requests={GPU: 1, "cpu": 12_000, "memory": 16 * GIB},
            priority_class="LS",
            cancelled_ms=90_000,
        ),
    ),
    "helios": (
        [
            HELIOS,
            "9,u1,vc2,16,32,2,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:30,2020-04-01 00:01:30,60,30",
        ],
        "",
        job("9", pods=2, requests={GPU: 8, "cpu": 16_000}, queue="vc2", user="u1", waited_ms=30_000),
    ),
    "pai, without a header": (
        ["j,worker,2.0,Terminated,100.0,160.0,600.0,1.5,200.0,V100"],
        "pai",
        job(
            "j/worker",
            pods=2,
            requests={GPU: 2, "cpu": 6_000, "memory": 1536 * 1024**2},
            priority_class="V100",
            waited_ms=0,
        ),
    ),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_trace_is_read_by_its_preset(name: str) -> None:
    lines, preset, expected = PUBLIC[name]
    trace = csv_rows.read(lines, "public.csv", PRESETS[preset] if preset else None)
    assert (list(trace.jobs), problems(trace)) == ([expected], [])


def test_states_that_are_no_jobs_are_skipped() -> None:
    rows = ["j,w,1.0,Waiting,,,100.0,1,,", "j,w,1.0,Failed,1.0,2.0,100.0,1,,"]
    trace = csv_rows.read(rows, "pai.csv", PRESETS["pai"])
    assert (len(trace.jobs), trace.skipped, trace.bad_count) == (1, {"state Waiting": 1}, 0)


def test_header_of_a_file_that_has_one_after_all_is_no_row() -> None:
    header = ",".join(PRESETS["pai"].header)
    trace = csv_rows.read([header, "j,w,1.0,Failed,1.0,2.0,100.0,1,,"], "pai.csv", PRESETS["pai"])
    assert (len(trace.jobs), trace.bad_count) == (1, 0)


def test_blank_lines_and_line_ends_do_not_matter() -> None:
    trace = csv_rows.read([f"{HEADER}\r\n", "\n", "a,0,5,65,1,1\r\n", "  \n"], "jobs.csv", MAPPING)
    assert (len(trace.jobs), trace.bad_count) == (1, 0)


def test_only_times_with_a_date_tell_when_the_trace_begins() -> None:
    dated = csv_rows.read([HEADER, "a,1970-01-01T00:01:00,,,1,1"], "jobs.csv", MAPPING)
    assert dated.begins_ms == 60_000
    assert csv_rows.read([HEADER, "a,60,,,1,1"], "jobs.csv", MAPPING).begins_ms is None


def test_missing_column_is_named_with_those_that_exist() -> None:
    with pytest.raises(TraceError, match=r"jobs\.csv: no column 'begun'; it has 'id', 'created'"):
        csv_rows.read(["id,created"], "jobs.csv", MAPPING)


def test_columns_of_no_known_trace_need_a_mapping() -> None:
    with pytest.raises(TraceError, match=r"its columns match no known trace .*: 'a', 'b'\. Map the columns"):
        csv_rows.read(["a,b"], "jobs.csv")


def test_written_trace_is_read_back() -> None:
    jobs = [
        job("a", requests={"cpu": 1_500, "memory": 3 * GIB, GPU: 8}, pods=4, queue="q", priority_class="c"),
        job("b, with a comma", 61.25, None, requests={"google.com/tpu": 4}, user="u"),
        job("c", 100, 0.5, requests={"cpu": 2_000}),
    ]
    trace = csv_rows.read(csv_rows.write(jobs), "written.csv")
    assert (list(trace.jobs), trace.bad_count) == (jobs, 0)
