"""Writes docs/pictures: the flow, and the timeline of the recorded run that is kept beside it."""

from __future__ import annotations

from pathlib import Path

from development.pictures.flow import flow
from development.pictures.timeline import timeline
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.recording import Recording, from_json, to_json
from sandbox.toolchain.paths import CHECKOUT, RunState
from sandbox.toolchain.steps import StepError

FOLDER = CHECKOUT / "docs" / "pictures"
RECORDING = FOLDER / f"{JOBS.name}.json"


def pictures(state: RunState | None, folder: Path = FOLDER) -> int:
    """Writes every picture; takes over the run that sandbox `state` recorded last, if it is given.

    Raises StepError if that sandbox has no complete run.
    """
    if state is not None:
        (folder / RECORDING.name).write_bytes(to_json(_last_run(state)))
    for name, svg in drawn(folder).items():
        (folder / name).write_text(svg)
        print(folder / name)
    return 0


def drawn(folder: Path = FOLDER) -> dict[str, str]:
    """Returns the content of each picture by its file name."""
    recording = from_json((folder / RECORDING.name).read_bytes())
    return {"flow.svg": flow(), f"{JOBS.name}.svg": timeline(recording)}


def _last_run(state: RunState) -> Recording:
    again = state.command("scenario", SCENARIO=JOBS.name)
    path = state.recording(JOBS.name)
    if not path.exists():
        raise StepError(f"sandbox {state.name} has not played scenario {JOBS.name}", try_this=again)
    recording = from_json(path.read_bytes())
    if not recording.complete:
        missed = "; ".join(f"{m.title}: {m.problem}" for m in recording.milestones if m.problem)
        raise StepError(f"the last run was not as expected: {missed}", log=path, try_this=again)
    return recording
