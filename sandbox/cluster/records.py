"""Records of a sandbox's processes in its run state: one JSON file each, replaced as a whole.

The kernel reuses pids; together with the creation time of the process a pid is unique.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

CREATED_S_TOLERANCE = 0.05


@dataclass(frozen=True)
class ProcessId:
    """A pid and when its process was created, in seconds since the epoch."""

    pid: int
    created: float

    def process(self) -> psutil.Process | None:
        """Returns the live process, or None if it ended, is a zombie, or the pid was reused."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created) < CREATED_S_TOLERANCE
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def id_of(pid: int) -> ProcessId:
    """Returns the pid with the creation time of its process. Raises psutil.NoSuchProcess."""
    return ProcessId(pid, psutil.Process(pid).create_time())


@dataclass(frozen=True)
class Exit:
    """The end of a process: when, in seconds since the epoch, its exit code (negative: the signal that killed
    it), and the last line of its log."""

    at: float
    code: int
    why: str


@dataclass(frozen=True)
class ProcessRecord:
    """The record of one process.

    If it is not `graceful`, the process is killed when the sandbox stops: the control plane's data is deleted
    anyway, and an API server takes ten seconds to shut down. With a `supervisor`, it is restarted when it
    ends: `restarts` times until now, after its `last_exit`, the next time at `next_start`.
    """

    name: str
    id: ProcessId
    log: str
    graceful: bool = True
    supervisor: ProcessId | None = None
    restarts: int = 0
    last_exit: Exit | None = None
    next_start: float | None = None

    @property
    def pid(self) -> int:
        """The pid, which may have been reused."""
        return self.id.pid

    @property
    def created(self) -> float:
        """The time of its creation, in seconds since the epoch."""
        return self.id.created

    def process(self) -> psutil.Process | None:
        """Returns the live process, None if it has ended."""
        return self.id.process()


def write_record(folder: Path, record: ProcessRecord) -> None:
    """Writes the record of this name; a reader sees the old or the new one."""
    path = folder / f"{record.name}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(record)) + "\n")
    unfinished.replace(path)


def read_records(folder: Path) -> dict[str, ProcessRecord]:
    """Returns every record by name, whether its process still runs or not. Records of another version of
    Muster are skipped: `down` also finds processes without a record."""
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    records = (_from_json(json.loads(path.read_text())) for path in paths)
    return {record.name: record for record in records if record is not None}


def _from_json(fields: Mapping[str, Any]) -> ProcessRecord | None:
    try:
        supervisor, last_exit = fields["supervisor"], fields["last_exit"]
        parts = {
            "id": ProcessId(**fields["id"]),
            "supervisor": ProcessId(**supervisor) if supervisor else None,
            "last_exit": Exit(**last_exit) if last_exit else None,
        }
        return ProcessRecord(**{**fields, **parts})
    except (KeyError, TypeError):
        return None
