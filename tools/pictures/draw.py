"""Writes docs/pictures: the flow, and the recorded run and benchmark results stored there as JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.recording import Recording, from_json, to_json
from tools.pictures.comparison import Comparison, comparison
from tools.pictures.flow import flow
from tools.pictures.timeline import timeline
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError

FOLDER = CHECKOUT / "docs" / "pictures"
RECORDING = FOLDER / f"{JOBS.name}.json"
RESULTS = "kueue-{}.json"
"""Results of Kueue's performance harness, by configuration."""


def pictures(state: RunState | None, results: Path | None = None, folder: Path = FOLDER) -> int:
    """Writes all pictures. `state` and `results` replace the stored inputs by the last recorded run of that
    sandbox, and by a file that `make bench-kueue` saved.

    Raises StepError if the sandbox has no complete run, or the file has no results.
    """
    if state is not None:
        (folder / RECORDING.name).write_bytes(to_json(_last_run(state)))
    if results is not None:
        (folder / RESULTS.format(results.stem)).write_bytes(_results(results))
    for name, svg in drawn(folder).items():
        (folder / name).write_text(svg)
        print(folder / name)
    return 0


def drawn(folder: Path = FOLDER) -> dict[str, str]:
    """Returns the content of each picture by file name."""
    recording = from_json((folder / RECORDING.name).read_bytes())
    compared = {
        path.with_suffix(".svg").name: comparison(msgspec.json.decode(path.read_bytes(), type=Comparison))
        for path in sorted(folder.glob(RESULTS.format("*")))
    }
    return {"flow.svg": flow(), f"{JOBS.name}.svg": timeline(recording), **compared}


def _results(path: Path) -> bytes:
    again = "make bench-kueue CONFIG=baseline, then the file that it names"
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Comparison)
    except (OSError, msgspec.DecodeError) as error:
        raise StepError(f"no results of make bench-kueue in {path}: {error}", try_this=again) from error
    if not results.drawn:
        raise StepError(f"{path} has no figure with a target, so nothing is drawn", try_this=again)
    return msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n"


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
