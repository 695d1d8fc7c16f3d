"""Reads a trace of any format, from a file or a folder of journals."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from muster.files.errors import FileError
from muster.files.reading import GZIP, MANIFESTS_BYTES_MAX, MIB, opened_lines
from muster.forecast.traces import csv_rows, journal, kueue_generator, sacct, sacct_json, swf
from muster.forecast.traces.csv_mapping import CsvMapping
from muster.forecast.traces.sacct import SacctOptions
from muster.forecast.traces.swf import SwfOptions
from muster.forecast.traces.trace import Trace, TraceError

BY_SUFFIX: Mapping[str, str] = {
    ".swf": "swf",
    ".csv": "csv",
    ".jsonl": "journal",
    ".ndjson": "journal",
    ".json": "sacct-json",
    ".yaml": "kueue",
    ".yml": "kueue",
}
FORMATS = ("swf", "csv", "sacct", "sacct-json", "kueue", "journal")
JOURNALS = ("*.jsonl", "*.jsonl.gz")
_EXPECTED = "a trace, or a folder of journals"
SACCT_JSON_BYTES_MAX = 1024 * MIB
_FIRST_LINES = 50  # read to detect the format; SWF headers are long


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the formats."""

    swf: SwfOptions | None = None
    sacct: SacctOptions | None = None
    csv: CsvMapping | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A trace, and manifests of the queues that its file defines, if any."""

    trace: Trace
    manifests: tuple[dict[str, Any], ...] = ()


def read(path: Path, format: str = "", options: ReadOptions | None = None) -> Loaded:
    """Returns the trace at `path`. Without a format, it is detected from the file's name and first lines.

    Raises: TraceError if there is no such file, its format is unknown, or no row is a job."""
    options = options or ReadOptions()
    if format and format not in FORMATS:
        raise TraceError(f"format {format!r}: expected one of {', '.join(FORMATS)}")
    try:
        if os.path.isdir(path):  # unlike Path.is_dir, no error for a name that no file can have
            loaded = Loaded(_journals(path, format))
        else:
            with opened_lines(path, _EXPECTED) as lines:
                first = list(islice(lines, _FIRST_LINES))  # a pipe is read only once
                format = format or _detected_format(path, first)
                loaded = _read(chain(first, lines), path, format, options)
    except FileError as problem:
        raise TraceError(str(problem)) from problem
    _check(loaded.trace, format)
    return loaded


def _read(lines: Iterable[str], path: Path, format: str, options: ReadOptions) -> Loaded:
    source = str(path)
    match format:
        case "swf":
            return Loaded(swf.read(lines, source, options.swf))
        case "csv":
            return Loaded(csv_rows.read(lines, source, options.csv))
        case "sacct":
            return Loaded(sacct.read(lines, source, options.sacct))
        case "sacct-json":
            text = _text(lines, source, SACCT_JSON_BYTES_MAX)
            return Loaded(sacct_json.read(text, source, options.sacct))
        case "journal":
            return Loaded(journal.read([(source, lines)], source))
        case _:
            generated = kueue_generator.read(_text(lines, source), source)
            return Loaded(generated.trace, generated.manifests)


def _journals(folder: Path, format: str) -> Trace:
    """Returns the workloads of all journals in a folder, in order of file names."""
    if format not in ("", "journal"):
        raise TraceError(
            f"{folder}: a folder is read as journals; give the path of a file to read it as {format}"
        )
    paths = sorted(path for pattern in JOURNALS for path in folder.glob(pattern))
    if not paths:
        raise TraceError(f"{folder}: no journal in this folder; expected files named {' or '.join(JOURNALS)}")
    return journal.read(((str(path), _lines(path)) for path in paths), str(folder))


def _lines(path: Path) -> Iterator[str]:
    with opened_lines(path, "a journal", pipes=False) as lines:
        yield from lines


def _text(lines: Iterable[str], source: str, bytes_max: int = MANIFESTS_BYTES_MAX) -> str:
    """Joins the lines of a format that is read as a whole."""
    parts, length = [], 0
    for line in lines:
        parts.append(line)
        length += len(line)
        if length > bytes_max:
            raise TraceError(f"{source} has more than {bytes_max // MIB} MiB; expected at most that")
    return "".join(parts)


def _detected_format(path: Path, lines: Sequence[str]) -> str:
    """Detects the format of a file. A header of sacct takes precedence over the file name."""
    first = [stripped for line in lines if (stripped := line.strip())]
    if not first:
        raise TraceError(f"{path}: the file is empty; expected a trace ({', '.join(FORMATS)})")
    if _is_sacct(first[0]):
        return "sacct"
    return BY_SUFFIX.get(_suffix(path)) or _by_content(path, first)


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(GZIP)).suffix.lower()


def _by_content(path: Path, first: Sequence[str]) -> str:
    head = first[0]
    if head.startswith(";") or len(head.split()) == swf.FIELDS:
        return "swf"
    if head.startswith("{"):
        return "sacct-json" if sacct_json.is_sacct_json(head) else "journal"
    if any(line.startswith(("cohorts:", "- className:")) for line in first):
        return "kueue"
    if "," in head:
        return "csv"
    raise TraceError(
        f"{path}: cannot detect the format from its name or its first line {head[:60]!r}; "
        f"give --format {'|'.join(FORMATS)}"
    )


def _is_sacct(line: str) -> bool:
    return "|" in line and "jobid" in (name.strip().lower() for name in line.split("|"))


def _check(trace: Trace, format: str) -> None:
    """Raises: TraceError for a trace without jobs."""
    if trace.jobs:
        return
    if trace.bad:
        first = trace.bad[0]
        raise TraceError(
            f"{trace.source}: none of its {trace.bad_count:,} rows is a job; {first.where}: {first.problem}. "
            f"Is the format {format or 'journal'}? Another: --format {'|'.join(FORMATS)}"
        )
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in trace.skipped.items())
    raise TraceError(f"{trace.source}: it has no jobs{f' (skipped: {skipped})' if skipped else ''}")
