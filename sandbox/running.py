"""Determines the state of a sandbox from its processes and its API server."""

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lightkube import Client
from lightkube.core.exceptions import ApiError, ConfigError

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.processes import Processes
from sandbox.realnodes.cluster import NODES_FOLDER
from sandbox.scenarios.runner import SCENARIO_LABEL
from sandbox.stack_file import deployed
from tools.bootstrap import exclusive
from tools.toolchain.console import duration
from tools.toolchain.paths import DEFAULTS, RunState
from tools.toolchain.steps import StepError

NO_ANSWER = (ApiError, ConfigError, httpx2.HTTPError)
NAMES_MAX = 5
"""The maximum number of jobs that a message names; it counts the others."""


def engine_of(state: RunState) -> str:
    """Returns the sandbox's current or last engine; the default if it was never up."""
    if (file := deployed(state)).exists():
        return str(yaml.safe_load(file.read_text())["config"]["muster:admission"]["engine"])
    if state.timings.exists():
        return str(json.loads(state.timings.read_text()).get("engine", DEFAULTS["ENGINE"]))
    return DEFAULTS["ENGINE"]


def has_real_nodes(state: RunState) -> bool:
    """Returns whether kubelets run the sandbox's pods."""
    return (state.root / NODES_FOLDER).is_dir()


def up_since(state: RunState) -> float | None:
    """Returns the creation time of the oldest live process, in seconds since the epoch; None if no process
    runs."""
    live = [row.created for row in Processes(state).table().values() if row.process() is not None]
    return min(live, default=None)


def existing_names(checkout: Path) -> list[str]:
    """Returns the names of the checkout's sandboxes, including stopped ones."""
    traces = [path for name in ("processes", "timings.json") for path in checkout.glob(f".muster/*/{name}")]
    return sorted({path.parent.name for path in traces})


def require_up(state: RunState) -> None:
    """Raises StepError with the names of running sandboxes if this sandbox is not up."""
    if up_since(state) is None or not state.kubeconfig.exists():
        others = [
            name
            for name in existing_names(state.checkout)
            if up_since(RunState(name, state.checkout)) is not None
        ]
        suffix = f"; running: {', '.join(others)}" if others else ""
        raise StepError(
            f"sandbox {state.name} is not up{suffix}",
            try_this=state.command("up", ENGINE=engine_of(state)),
        )


def require_api(state: RunState) -> None:
    """Raises StepError if the sandbox is not up or its API server does not respond."""
    require_up(state)
    try:
        with closing(kinds.connect(state.kubeconfig)) as client:
            client.get(kinds.Namespace, "default")
    except NO_ANSWER as error:
        raise StepError(
            f"the API server of sandbox {state.name} does not respond: {error}",
            try_this=state.command("status"),
        ) from error


def require_unused(state: RunState, engine: str) -> None:
    """Raises StepError if the sandbox is up, as `up` would replace it; the message has its jobs and the next
    commands."""
    since = up_since(state)
    if since is None:
        return
    finished = "" if state.timings.exists() else " (not completely)"
    raise StepError(
        f"sandbox {state.name} is up already{finished}: engine {engine_of(state)}, for "
        f"{duration(time.time() - since)}, {_contents(state)}; nothing was changed",
        try_this=f"{state.command('apply')} (deploys the stack file to it), {state.command('status')}, or "
        f"{state.command('up', ENGINE=engine, FRESH='1')} (replaces it; its jobs are lost)",
    )


@contextmanager
def only_run(state: RunState) -> Iterator[None]:
    """Locks the sandbox against changes by other commands."""
    with exclusive(state.root.with_suffix(".lock"), f"or changes sandbox {state.name}"):
        yield


def unfinished_jobs(client: Client) -> list[tuple[str, Object]]:
    """Returns the name of the kind and the object of each unfinished job without an owner."""
    return [
        (name, obj)
        for name, obj in kinds.jobs(client)
        if not obj["metadata"].get("ownerReferences") and not _has_ended(obj)
    ]


def users_objects(client: Client) -> list[tuple[str, Object]]:
    """Returns the `unfinished_jobs` that were not submitted by a scenario."""
    return [
        (kind, obj)
        for kind, obj in unfinished_jobs(client)
        if SCENARIO_LABEL not in (obj["metadata"].get("labels") or {})
    ]


def named(objects: list[tuple[str, Object]]) -> str:
    """Returns the objects' names: `RayJob team-a/train, RayCluster team-a/notebook and 3 more`."""
    names = [f"{kind} {'/'.join(kinds.key(obj))}" for kind, obj in objects]
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def _contents(state: RunState) -> str:
    try:
        with closing(kinds.connect(state.kubeconfig)) as client:
            jobs = unfinished_jobs(client)
    except NO_ANSWER:
        return "its API server does not respond"
    return f"with {named(jobs)}" if jobs else "without jobs"


def _has_ended(job: Object) -> bool:
    status: dict[str, Any] = job.get("status") or {}
    if status.get("jobDeploymentStatus") in ("Complete", "Failed"):
        return True
    # Jobs are Complete, JobSets Completed.
    return any(kinds.is_true(job, name) for name in ("Complete", "Completed", "Failed"))
