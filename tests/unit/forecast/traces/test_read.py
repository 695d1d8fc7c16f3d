"""Reads traces from files: which format they have, compression, folders of journals, what cannot be read."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.forecast.traces import read as traces
from muster.forecast.traces.csv_mapping import from_text
from muster.forecast.traces.read import ReadOptions
from muster.forecast.traces.trace import TraceError

SWF = "1 0 0 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
CSV = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time
a,1,1,1,1000,LS,0,9,1
"""
SACCT = "JobID|Submit|Start|End|ReqTRES\n1|2026-03-01T10:00:00|Unknown|Unknown|cpu=1\n"
JOURNAL = (
    '{"version":1,"uid":"%s","namespace":"n","name":"w","kind":"RayJob","outcome":"Succeeded",'
    '"createdAt":"2026-03-01T10:00:00Z","podSets":[{"name":"w","count":1,"requests":{"cpu":"1"}}]}\n'
)
KUEUE = """cohorts:
- className: c
  count: 1
  queuesSets:
  - className: q
    count: 1
    nominalQuota: 1
    workloadsSets: [{count: 1, workloads: [{className: w, runtimeMs: 1, request: 1}]}]
"""

NAMES = {
    "log.swf": SWF,
    "log.SWF": SWF,
    "jobs.csv": CSV,
    "journal.jsonl": JOURNAL % "a",
    "journal.ndjson": JOURNAL % "a",
    "generator.yaml": KUEUE,
    "generator.yml": KUEUE,
    "sacct.csv": SACCT,
    "a log, found by its header": f"; Version: 2\n{SWF}",
    "a log, found by its fields": f"\n{SWF}",
    "a table": CSV,
    "accounting": f"\n{SACCT}",
    "accounting with a bar at the end": SACCT.replace("\n", "|\n"),
    "a journal": JOURNAL % "a",
    "a generator": f"# Kueue\n{KUEUE}",
    "an older generator": KUEUE.removeprefix("cohorts:\n"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compressed", [False, True])
def test_format_is_found_by_name_or_content(name: str, compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / (f"{name}.gz" if compressed else name)
    path.write_bytes(gzip.compress(NAMES[name].encode()) if compressed else NAMES[name].encode())
    loaded = traces.read(path)
    assert (len(loaded.trace.jobs), loaded.trace.bad_count) == (1, 0)
    assert loaded.trace.source == str(path)


@pytest.mark.parametrize(
    ("format", "text"),
    [("swf", SWF), ("csv", CSV), ("sacct", SACCT), ("journal", JOURNAL % "a"), ("kueue", KUEUE)],
)
def test_format_that_is_given_is_not_looked_for(format: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt.csv"
    path.write_text(text)
    assert len(traces.read(path, format).trace.jobs) == 1


def test_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(CSV, encoding="utf-8-sig")
    assert len(traces.read(path).trace.jobs) == 1


def test_byte_that_is_no_text_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(CSV.encode().replace(b"\na,", b"\n\xff,"))
    assert traces.read(path).trace.jobs[0].name == "\N{REPLACEMENT CHARACTER}"


def test_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("t,g\n0,4\n")
    options = ReadOptions(csv=from_text("submit=t,google.com/tpu=g"))
    assert traces.read(path, options=options).trace.jobs[0].requests == {"google.com/tpu": 4}


def test_generator_gives_queues_next_to_the_jobs(tmp_path: Path) -> None:
    path = tmp_path / "generator.yaml"
    path.write_text(KUEUE)
    kinds = {manifest["kind"] for manifest in traces.read(path).manifests}
    assert kinds == {"ResourceFlavor", "Cohort", "WorkloadPriorityClass", "ClusterQueue", "LocalQueue"}


def written(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_folder_is_read_as_journals_in_the_order_of_their_names(tmp_path: Path) -> None:
    first, second = ((JOURNAL % uid).encode() for uid in ("a", "b"))
    later = first.replace(b"Succeeded", b"Failed")
    folder = written(
        tmp_path, {"1.jsonl": first + b"?\n", "2.jsonl.gz": gzip.compress(second + later), "x.txt": b"?"}
    )
    trace = traces.read(folder).trace
    assert (len(trace.jobs), trace.source) == (2, str(folder))
    assert trace.skipped == {"earlier record of the same workload": 1}
    assert [bad.where for bad in trace.bad] == [f"{folder / '1.jsonl'}:2"]


WHOLE = gzip.compress(b"x" * 10_000)
UNREADABLE: dict[str, tuple[str, bytes, str]] = {
    "an empty file": (
        "a.csv",
        b"",
        "the file is empty; expected a trace (swf, csv, sacct, sacct-json, kueue, journal)",
    ),
    "blank lines": ("a", b"\n \n", "the file is empty"),
    "an empty file, compressed": ("a.swf.gz", gzip.compress(b""), "the file is empty"),
    "no known format": (
        "notes.txt",
        b"hello\n",
        "cannot detect the format from its name or its first line 'hello'",
    ),
    "a file that is not compressed": ("a.csv.gz", CSV.encode(), "expected a whole gzip file"),
    "a file that is cut off": (
        "a.csv.gz",
        WHOLE[:-12],
        "expected a whole gzip file: compress or copy it again",
    ),
    "a file with a damaged byte": ("a.csv.gz", WHOLE[:-5] + b"!" + WHOLE[-4:], "expected a whole gzip file"),
    "no row is a job": (
        "a.swf",
        b"hello\nworld\n",
        "none of its 2 rows is a job; {path}:1: 1 fields: expected the 18 of the Standard Workload Format. "
        "Is the format swf?",
    ),
    "only steps": (
        "a",
        SACCT.replace("\n1|", "\n1.0|").encode(),
        "it has no jobs (skipped: 1 step of a job)",
    ),
    "a header alone": ("a.csv", CSV.partition("\n")[0].encode(), "it has no jobs"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_file_that_is_no_trace_is_refused(name: str, tmp_path: Path) -> None:
    file, content, expected = UNREADABLE[name]
    path = written(tmp_path, {file: content}) / file
    with pytest.raises(TraceError) as refused:
        traces.read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert expected.replace("{path}", str(path)) in str(refused.value)


def test_journal_of_a_folder_that_is_cut_off_is_named(tmp_path: Path) -> None:
    written(tmp_path, {"1.jsonl": (JOURNAL % "a").encode(), "2.jsonl.gz": WHOLE[:-12]})
    with pytest.raises(TraceError, match=r"2\.jsonl\.gz: .*expected a whole gzip file"):
        traces.read(tmp_path)


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match="No such file or directory; expected a trace, or a folder of journals"
    ):
        traces.read(tmp_path / "jobs.csv")


def test_path_through_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TraceError, match=r"jobs\.csv: Not a directory"):
        traces.read(tmp_path / "file" / "jobs.csv", "csv")


def test_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no journal in this folder; expected files named \*\.jsonl"):
        traces.read(tmp_path)


def test_folder_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match="a folder is read as journals; give the path of a file to read it as swf"
    ):
        traces.read(tmp_path, "swf")


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="format 'xml': expected one of swf, csv, sacct, sacct-json, "):
        traces.read(tmp_path, "xml")
