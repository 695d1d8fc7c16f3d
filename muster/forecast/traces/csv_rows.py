"""Reads and writes traces as CSV with one job per row, using a mapping of columns."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import chain
from sys import intern

from muster.admission import TopologyRequest, quantities
from muster.forecast.traces.csv_mapping import GPU, PRESETS, TIMES, Column, CsvMapping, preset_of
from muster.forecast.traces.rows import ROUNDED, RowError, Rows
from muster.forecast.traces.trace import Trace, TraceError, TraceJob
from muster.forecast.traces.values import (
    ABSENT,
    SECOND,
    amount,
    count,
    duration,
    millis,
    not_negative,
    of_each_pod,
    shown,
    unix_ms,
)

_NO_COLUMN = -1  # index of the empty field that is appended to every row

Requests = tuple[int, Mapping[str, int], bool]
"""Number of pods, the requests of each, and whether they were rounded up."""


def read(lines: Iterable[str], source: str, mapping: CsvMapping | None = None) -> Trace:
    """Returns the jobs of a CSV file. Without a mapping, the header must match a preset."""
    rows = Rows(source)
    reader: _Reader | None = None
    for number, line in enumerate(lines, 1):
        try:
            fields = _split(line)
            if not fields:
                continue
            if reader is None:
                header = mapping.header if mapping and mapping.header else fields
                reader = _Reader(mapping or _preset(header, source), header, rows)
                if header is fields or tuple(fields) == header:
                    continue
            reader.read(fields, number)
        except RowError as problem:
            rows.reject(number, problem)
    return rows.trace(0 if reader and reader.is_unix else None)


def write(jobs: Iterable[TraceJob]) -> Iterator[str]:
    """Yields the lines of a CSV file in the format of the preset `muster`."""
    preset = PRESETS["muster"]
    fields, resources = preset.fields(), preset.resources()
    line = StringIO()
    writer = csv.writer(line, lineterminator="")
    for row in chain([[column.name for column in (*fields.values(), *resources.values())]], _texts(jobs)):
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def _texts(jobs: Iterable[TraceJob]) -> Iterator[list[str]]:
    fields, resources = PRESETS["muster"].fields(), PRESETS["muster"].resources()
    for job in jobs:
        texts = {
            "name": job.name,
            "submit": _seconds(job.submit_ms),
            "run": "" if job.run_ms is None else _seconds(job.run_ms),
            "pods": str(job.pods),
            "queue": job.queue,
            "class": job.priority_class,
            "user": job.user,
        }
        requests = (
            quantities.format(resource, job.requests[resource]) if job.requests.get(resource) else ""
            for resource in resources
        )
        yield [*(texts[field] for field in fields), *requests]


class _Reader:
    """Reads the rows of one file, whose header determines the columns."""

    def __init__(self, mapping: CsvMapping, header: Sequence[str], rows: Rows) -> None:
        fields = mapping.fields()
        self._rows = rows
        self._width = len(header)
        self._skip_states = frozenset(mapping.skip_states)
        names = fields.pop("name", Column("")).name
        self._names = [_index(header, name, rows.source) for name in names.split("/")] if names else []
        self._at = {field: _index(header, column.name, rows.source) for field, column in fields.items()}
        self._units = {field: column.unit for field, column in fields.items()}
        resources = mapping.resources()
        self._amounts = [_index(header, column.name, rows.source) for column in resources.values()]
        self._requests_of = _requests_of(resources, mapping.totals, self._units.get("gpuShare", ""))
        self._submit, self._start, self._end = (self._at.get(name, _NO_COLUMN) for name in TIMES)
        self.is_unix = self._units["submit"] == "iso"  # without a unit in the mapping, the values decide

    def read(self, fields: list[str], number: int) -> None:
        """Adds the job of the row, or counts the row as skipped. Raises: RowError for a bad row."""
        if len(fields) != self._width:
            raise RowError(f"{len(fields)} columns: expected {self._width}, as in the header")
        fields.append("")
        state = self._text("state", fields)
        if state in self._skip_states:
            self._rows.skipped[f"state {state}"] += 1
            return
        share, pods = self._text("gpuShare", fields), self._text("pods", fields)
        pods_count, requests, rounded = self._requests_of(pods, share, *[fields[at] for at in self._amounts])
        submit_ms = self._time("submit", fields[self._submit])
        run_ms, waited_ms, cancelled_ms = self._times(submit_ms, fields)
        name = "/".join([fields[at] for at in self._names]) or f"row-{number}"
        job = TraceJob(
            name,
            submit_ms,
            run_ms,
            pods_count,
            requests,
            intern(self._text("queue", fields)),
            intern(self._text("class", fields)),
            intern(self._text("user", fields)),
            waited_ms,
            self._duration("limit", fields),
            cancelled_ms,
            topology=_topology(
                self._text("requiredTopology", fields), self._text("preferredTopology", fields)
            ),
        )
        self._rows.jobs.append(job)
        if rounded:
            self._rows.adjusted[ROUNDED] += 1

    def _times(self, submit_ms: int, fields: list[str]) -> tuple[int | None, int | None, int | None]:
        """Returns run time and wait, from their columns, else from start and end, and the time until the
        job was cancelled: it has an end, but neither a start nor a run time."""
        run_ms, waited_ms = self._duration("run", fields), self._duration("wait", fields)
        started, ended = fields[self._start], fields[self._end]
        if started in ABSENT:
            if ended in ABSENT:
                return run_ms, waited_ms, None
            end_ms = self._time("end", ended)
            cancelled_ms = duration("the job's time", submit_ms, end_ms, "submit", "end")
            return (run_ms, waited_ms, None) if run_ms is not None else (None, None, cancelled_ms)
        start_ms = self._time("start", started)
        if waited_ms is None:
            waited_ms = duration("the wait", submit_ms, start_ms, "submit", "start")
        if run_ms is None and ended not in ABSENT:
            run_ms = duration("the run time", start_ms, self._time("end", ended), "start", "end")
        return run_ms, waited_ms, None

    def _text(self, field: str, fields: list[str]) -> str:
        return fields[self._at.get(field, _NO_COLUMN)]

    def _time(self, field: str, text: str) -> int:
        unit = self._units[field]
        if unit == "iso":
            return unix_ms(field, text)
        if unit == "" and _is_iso(text):
            self.is_unix = True
            return unix_ms(field, text)
        return millis(field, text, 1 if unit == "ms" else SECOND)

    def _duration(self, field: str, fields: list[str]) -> int | None:
        text = self._text(field, fields)
        if text in ABSENT:
            return None
        return not_negative(field, millis(field, text, 1 if self._units[field] == "ms" else SECOND))


@lru_cache
def _topology(required: str, preferred: str) -> TopologyRequest | None:
    if required in ABSENT and preferred in ABSENT:
        return None
    return TopologyRequest(
        required=None if required in ABSENT else required,
        preferred=None if preferred in ABSENT else preferred,
    )


def _requests_of(resources: Mapping[str, Column], totals: bool, share_unit: str) -> Callable[..., Requests]:
    """Returns a function from a row's texts (pods, GPU share, an amount per resource) to pods and requests.
    It is cached, so that jobs with the same texts share their requests: traces have few distinct ones."""

    @lru_cache(maxsize=50_000)
    def requests_of(pods_text: str, share: str, *amounts: str) -> Requests:
        pods = count("pods", pods_text) if pods_text else 1
        requests: dict[str, int] = {}
        rounded = False
        for (resource, column), text in zip(resources.items(), amounts, strict=True):
            total = Fraction(0) if text in ABSENT else amount(column.name, text, column.unit)
            if resource == GPU and share not in ABSENT:
                total *= amount("gpuShare", share, share_unit)
            units, more = of_each_pod(resource, total, pods if totals else 1)
            if units:
                requests[resource] = units
            rounded = rounded or more
        if not requests:
            raise RowError(f"the job requests nothing: expected an amount of {' or '.join(resources)}")
        return pods, requests, rounded

    return requests_of


def _split(line: str) -> list[str]:
    """Returns the fields of a line. Each line is a row: an open quote ends with its line, not with
    the file."""
    line = line.rstrip("\r\n")
    if not line.strip():
        return []
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader((line,), strict=True))
    except csv.Error as problem:
        raise RowError(f"{problem}: expected comma-separated values, with quotes doubled in quotes") from None


def _preset(header: Sequence[str], source: str) -> CsvMapping:
    if mapping := preset_of(header):
        return mapping
    raise TraceError(
        f"{source}: its columns match no known trace ({', '.join(PRESETS)}): {_listed(header)}. Map the "
        "columns: --columns submit=COLUMN,start=COLUMN,end=COLUMN,gpus=COLUMN"
    )


def _index(header: Sequence[str], column: str, source: str) -> int:
    for index, name in enumerate(header):
        if name.strip() == column:
            return index
    raise TraceError(f"{source}: no column {shown(column)}; it has {_listed(header)}. Correct the mapping.")


def _listed(header: Sequence[str]) -> str:
    return ", ".join(shown(name.strip()) for name in header[:30]) + (", …" if len(header) > 30 else "")


def _is_iso(text: str) -> bool:
    return text[4:5] == "-" or ":" in text or "T" in text


def _seconds(time_ms: int) -> str:
    return f"{time_ms / SECOND:.3f}".rstrip("0").rstrip(".")
