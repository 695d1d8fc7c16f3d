"""Reads the output of `sacct --json --allusers --duplicates` as the columns of `sacct --parsable2`.

Versions of Slurm differ: numbers are plain, or objects with `set`, `infinite` and `number`; a state is a text
or a list. Source: Slurm's data_parser plugins v0.0.37 to v0.0.41.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.forecast.traces import sacct
from muster.forecast.traces.sacct import SacctOptions
from muster.forecast.traces.trace import Trace, TraceError

HEADER = sacct.FORMAT.split(",")
BEGINNINGS = ('{"jobs"', '{"meta"', '{"errors"', '{"warnings"')
_NUMBER_MAX = 1 << 62


def is_sacct_json(line: str) -> bool:
    """Returns whether a file with this first line is the output of `sacct --json`; a journal has a record in
    each line."""
    return line == "{" or line.replace(" ", "").startswith(BEGINNINGS)


def read(text: str, source: str, options: SacctOptions | None = None) -> Trace:
    """Returns the jobs of an accounting log. Raises: TraceError."""
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
        raise TraceError(f"{source}: {problem}: expected the output of sacct --json") from problem
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(f"{source}: no list of jobs; expected the output of sacct --json")
    rows = ((number, _fields(job) if isinstance(job, dict) else []) for number, job in enumerate(jobs, 1))
    return sacct.read_rows(HEADER, rows, source, options or SacctOptions())


def _fields(job: Mapping[str, Any]) -> list[str]:
    """Returns the columns of a job, as `sacct --parsable2` prints them."""
    time, tres = _mapping(job, "time"), _mapping(job, "tres")
    columns = {
        "JobID": _job_id(job),
        "Submit": _time(time.get("submission")),
        "Eligible": _time(time.get("eligible")),
        "Start": _time(time.get("start")),
        "End": _time(time.get("end")),
        "State": _state(_mapping(job, "state").get("current")),
        "Timelimit": _limit(time.get("limit")),
        "ReqTRES": ",".join(_tres(tres.get("requested"))) or ",".join(_tres(tres.get("allocated"))),
        "NNodes": str(_number(job.get("allocation_nodes")) or ""),
        "Partition": job.get("partition"),
        "QOS": job.get("qos"),
        "User": job.get("user"),
        "Account": job.get("account"),
    }
    return [str(columns[name] or "") for name in HEADER]


def _job_id(job: Mapping[str, Any]) -> str:
    """Returns the id of the job, of its task in an array, or of its component in a heterogeneous job."""
    array, het = _mapping(job, "array"), _mapping(job, "het")
    if _number(array.get("job_id")):
        if (task := _number(array.get("task_id"))) is not None:
            return f"{_number(array['job_id'])}_{task}"
        if array.get("task"):
            return f"{_number(array['job_id'])}_[{array['task']}]"
    if _number(het.get("job_id")):
        return f"{_number(het['job_id'])}+{_number(het.get('job_offset')) or 0}"
    return str(job.get("job_id", ""))


def _mapping(job: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = job.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    """Returns a number; None if it is not set or infinite."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _NUMBER_MAX
    return value if is_number else None


def _time(value: Any) -> str:
    """Returns seconds since 1970 as text; "Unknown" for 0, which Slurm uses for no time."""
    return str(_number(value) or "Unknown")


def _state(value: Any) -> str:
    states = value if isinstance(value, list) else [value]
    return str(states[0] or "") if states else ""


def _limit(value: Any) -> str:
    minutes = _number(value)
    return "UNLIMITED" if minutes is None else f"{minutes}:00"


def _tres(values: Any) -> Iterator[str]:
    for entry in values if isinstance(values, list) else ():
        count = _number(entry.get("count")) if isinstance(entry, dict) else None
        if count is not None and count > 0:
            name = f"{entry.get('type')}/{entry['name']}" if entry.get("name") else f"{entry.get('type')}"
            yield f"{name}={count}{'M' if name == 'mem' else ''}"
