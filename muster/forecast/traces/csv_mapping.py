"""Maps CSV columns to a job's submission, run time, pods and requests; has presets for public traces."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from muster.forecast.traces import yaml_text
from muster.forecast.traces.trace import TraceError

GPU = "nvidia.com/gpu"
NAMES = {"gpus": GPU, "gpu": GPU, "cpus": "cpu", "cores": "cpu", "mem": "memory"}
"""Short names of resources in a mapping; `cpu`, `memory` and names with a slash are also resources."""

FIELDS = (
    "name",  # one or more columns, separated by slashes: job_name/task_name
    "submit",
    "start",
    "end",
    "run",
    "wait",
    "limit",
    "pods",
    "queue",
    "class",
    "user",
    "state",
    "requiredTopology",  # the node label of the level in one domain of which all pods must be
    "preferredTopology",
    "gpuShare",  # the fraction of a GPU that each of `gpus` represents
)
TIMES = ("submit", "start", "end")
DURATIONS = ("run", "wait", "limit")
TIME_UNITS = ("s", "ms", "iso")
AMOUNT_UNITS = ("m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "%")


class Column(NamedTuple):
    """A column by its name in the header, and the unit of its values; an empty unit is detected for each
    value."""

    name: str
    unit: str = ""


class CsvMapping(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Columns by field or resource, as `column` or `column:unit`.

    Units of times are s, ms and iso (default: s for numbers, else ISO 8601); units of amounts are the
    suffixes of Kubernetes quantities, and %."""

    columns: Mapping[str, str]
    header: tuple[str, ...] = ()  # column names of a file without a header line
    skip_states: tuple[str, ...] = ()  # rows with these states are skipped
    totals: bool = False  # requests are of all pods together

    def fields(self) -> dict[str, Column]:
        """Returns the columns of all fields except requests."""
        return {name: _column(name, text) for name, text in self.columns.items() if name in FIELDS}

    def resources(self) -> dict[str, Column]:
        """Returns the columns of requests by resource."""
        return {
            NAMES.get(name, name): _column(name, text)
            for name, text in self.columns.items()
            if name not in FIELDS
        }


PRESETS: Mapping[str, CsvMapping] = {
    # The format of `csv_rows.write`.
    "muster": CsvMapping(
        columns={
            "name": "name",
            "submit": "submit_seconds:s",
            "run": "run_seconds:s",
            "pods": "pods",
            "cpu": "cpu",
            "memory": "memory",
            GPU: GPU,
            "google.com/tpu": "google.com/tpu",
            "queue": "queue",
            "class": "priority_class",
            "user": "user",
        }
    ),
    # Alibaba's cluster-trace-gpu-v2023: openb_pod_list_*.csv.
    "openb": CsvMapping(
        columns={
            "name": "name",
            "submit": "creation_time:s",
            "start": "scheduled_time:s",
            "end": "deletion_time:s",
            "gpus": "num_gpu",
            "gpuShare": "gpu_milli:m",
            "cpus": "cpu_milli:m",
            "memory": "memory_mib:Mi",
            "class": "qos",
        }
    ),
    # SenseTime's Helios: cluster_log.csv of each cluster. GPUs and CPUs are totals over all nodes.
    "helios": CsvMapping(
        columns={
            "name": "job_id",
            "submit": "submit_time",
            "run": "duration:s",
            "wait": "queue:s",
            "pods": "node_num",
            "gpus": "gpu_num",
            "cpus": "cpu_num",
            "queue": "vc",
            "user": "user",
        },
        totals=True,
    ),
    # Alibaba's cluster-trace-gpu-v2020 (PAI): pai_task_table.csv, which has no header line. Each task
    # becomes a
    # job, as instances are alike within a task but not within a job. The launch time is used as submission.
    "pai": CsvMapping(
        columns={
            "name": "job_name/task_name",
            "submit": "start_time:s",
            "start": "start_time:s",
            "end": "end_time:s",
            "pods": "inst_num",
            "gpus": "plan_gpu:%",
            "cpus": "plan_cpu:%",
            "memory": "plan_mem:Gi",
            "class": "gpu_type",
            "state": "status",
        },
        header=(
            "job_name",
            "task_name",
            "inst_num",
            "status",
            "start_time",
            "end_time",
            "plan_cpu",
            "plan_mem",
            "plan_gpu",
            "gpu_type",
        ),
        skip_states=("Waiting",),
    ),
}


def from_text(text: str) -> CsvMapping:
    """Parses the mapping of a command line: `submit=creation_time:s,gpus=num_gpu,totals=true`."""
    columns: dict[str, str] = {}
    totals = False
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, column = (part.strip() for part in item.partition("="))
        if not equals or not name or not column:
            raise TraceError(f"mapping {item!r}: expected field=column, such as submit=creation_time")
        if name == "totals":
            if column not in ("true", "false"):
                raise TraceError(f"mapping totals={column}: expected true or false")
            totals = column == "true"
        else:
            columns[name] = column
    return checked(CsvMapping(columns=columns, totals=totals))


def from_yaml(text: str, source: str) -> CsvMapping:
    """Parses the mapping of a YAML file: `columns`, `header`, `skipStates`, `totals`."""
    expected = "expected columns, and perhaps header, skipStates and totals"
    return checked(yaml_text.decode(text, CsvMapping, source, expected))


def checked(mapping: CsvMapping) -> CsvMapping:
    """Returns the mapping. Raises: TraceError unless it defines at least the submission time and requests."""
    fields, resources = mapping.fields(), mapping.resources()
    if "submit" not in fields:
        raise TraceError(
            "the mapping has no `submit`: add submit=COLUMN, the time at which a job is submitted"
        )
    for resource in resources:
        if "/" not in resource and resource not in ("cpu", "memory"):
            raise TraceError(
                f"the mapping has an unknown field {resource!r}: expected one of {', '.join(FIELDS)}, "
                "gpus, cpus, memory or a resource such as google.com/tpu"
            )
    if not resources:
        raise TraceError("the mapping has no requests: add gpus=COLUMN, cpus=COLUMN or memory=COLUMN")
    if "gpuShare" in fields and GPU not in resources:
        raise TraceError("the mapping has `gpuShare` without `gpus`: add gpus=COLUMN")
    return mapping


def preset_of(header: Sequence[str]) -> CsvMapping | None:
    """Returns the preset whose columns are all in the header, if any. For Muster's own format, only the
    columns that `checked` requires are mandatory."""
    for mapping in PRESETS.values():
        columns = {column.name for column in (*mapping.fields().values(), *mapping.resources().values())}
        if not mapping.header and columns <= set(header):
            return mapping
    native = PRESETS["muster"].columns
    present = {field: column for field, column in native.items() if column.partition(":")[0] in header}
    if len(present) < len(header):
        return None
    with suppress(TraceError):
        return checked(CsvMapping(columns=present))
    return None


def _column(field: str, text: str) -> Column:
    """Splits `column:unit`. A column name may contain a colon if no unit follows it."""
    name, colon, unit = text.rpartition(":")
    allowed = TIME_UNITS if field in TIMES else ("s", "ms") if field in DURATIONS else AMOUNT_UNITS
    return Column(name, unit) if colon and unit in allowed else Column(text)
