"""One run of Kueue's performance runner with one engine, in a folder below .muster/kueue-harness."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, stop_all
from tests.bench.kueue_harness.engine import COST, LOG
from tests.bench.kueue_harness.measured import Run, parse, problem
from tools.compiled_core import has_compiler, site
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen, StepError, tail

MUSTER, KUEUE = "muster", "kueue"
CONFIGS = ("small", "burst", "baseline", "large-scale", "tas")
_OURS = ("small", "burst")  # in this folder; the others are Kueue's
RECORD_MINUTES_MAX = 40  # large-scale takes Kueue 20 minutes, and on a slow machine half an hour
STOP_SECONDS_MAX = 120
PROGRESS_SECONDS = 30
STATE = RunState("kueue-harness")
PROFILE = "muster.prof"
_ASSETS = ("etcd", "kube-apiserver", "kubectl")
_API = "/apis/kueue.x-k8s.io/v1beta2"


@dataclass(frozen=True)
class Programs:
    """Executables by name, the folder of Kueue's module, and the folders of each engine's CRDs: Kueue's in
    both versions, Muster's in the version that it serves."""

    tools: dict[str, Path]
    kueue: Path
    crds: Mapping[str, Path]

    def generator(self, config: str) -> Path:
        """Returns the file that defines the queues and workloads that the runner creates."""
        if config in _OURS:
            return Path(__file__).with_name(f"{config}.yaml")
        return self.kueue / "test/performance/scheduler/configs" / config / "generator.yaml"


@dataclass(frozen=True)
class Progress:
    """Numbers of workloads that were created, wait, and hold quota, by the status of the ClusterQueues."""

    created: int
    pending: int
    running: int

    @property
    def finished(self) -> int:
        return self.created - self.pending - self.running

    def __str__(self) -> str:
        shares = f"{self.pending:,} wait, {self.running:,} run, {self.finished:,} have finished"
        return f"{self.created:,} workloads were created; by the status of the ClusterQueues {shares}"


Watch = Callable[[float, Progress], None]


def programs(screen: Screen) -> Programs:
    """Finds or builds everything that a run needs. Raises StepError if it cannot."""
    tools = ensure_tools((*_ASSETS, "kueue-minimalkueue", "kueue-runner"), screen)
    module = module_directory(find_go(), "kueue-performance", "sigs.k8s.io/kueue")
    crds = {engine: ensure_crds(engine) for engine in (MUSTER, KUEUE)}
    return Programs({name: tool.path for name, tool in tools.items()}, module, crds)


def run(
    engine: str,
    config: str,
    using: Programs,
    screen: Screen,
    profile: bool = False,
    watch: Watch | None = None,
) -> Run:
    """Runs the configuration once with this engine. `watch` gets its progress about once a second, with the
    seconds since its start. Raises StepError if not all workloads finish."""
    processes = Processes(STATE)
    processes.stop_everything()  # left by a run that was killed
    folder = STATE.root / config / engine
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("assets", "tmp"):
        (folder / name).mkdir(parents=True)
    for name in _ASSETS:
        (folder / "assets" / name).symlink_to(using.tools[name])
    executable = _executable(engine, folder, using, screen, profile)
    argv = [using.tools["kueue-runner"], "-o", folder, "-minimalKueue", executable]
    argv += ["-crds", using.crds[engine], "-qps", 1000, "-burst", 2000]
    argv += ["-generatorConfig", using.generator(config), "-timeout", f"{RECORD_MINUTES_MAX}m"]
    argv += ["-enableTAS"] if config == "tas" else []
    environment = {"KUBEBUILDER_ASSETS": str(folder / "assets"), "TMPDIR": str(folder / "tmp")}
    try:
        processes.start("runner", [str(a) for a in argv], environment, folder / "runner.log", using.kueue)
        _wait(
            processes,
            folder,
            watch or _shown(screen, f"{config}, {engine}"),
            1 if watch else PROGRESS_SECONDS,
        )
    finally:
        _stop(processes)
        shutil.rmtree(folder / "tmp")
    return _measured(engine, folder, using.generator(config).read_text())


def _measured(engine: str, folder: Path, generator: str) -> Run:
    try:
        summary, states = ((folder / name).read_text() for name in ("summary.yaml", "wlStates.csv"))
        result = parse(engine, summary, states, json.loads((folder / COST).read_text()))
        why = problem(result, states, generator)
    except FileNotFoundError:
        why = "it failed"
    if why:
        log = folder / "runner.log"
        ends = f"\n{tail(log)}\nThe end of {folder / LOG}:\n{tail(folder / LOG)}"
        advice = f"it gives up after {RECORD_MINUTES_MAX} minutes: run it while the machine is quiet"
        raise StepError(f"Kueue's runner, with {engine} as its engine: {why}{ends}", log=log, try_this=advice)
    return result


def _executable(engine: str, folder: Path, using: Programs, screen: Screen, profile: bool) -> Path:
    """Writes what the runner starts as minimalkueue, with --kubeconfig FILE and perhaps --enableTAS. Muster's
    admission core is compiled, as in its image, but not for a profile, which sees no compiled function, or
    without a C compiler."""
    if engine == KUEUE:
        command, flags = [str(using.tools["kueue-minimalkueue"])], '"$@"'
    else:
        profiler = ["-m", "cProfile", "-o", str(folder / PROFILE)] if profile else []
        package = CHECKOUT if profile or not has_compiler() else site(screen)
        command = ["/usr/bin/env", f"PYTHONPATH={package}", sys.executable, "-P", *profiler]
        command += ["-m", "muster", "controller"]
        command += ["--lease-namespace=default", f"--http-address=127.0.0.1:{free_port()}"]
        flags = '"$1" "$2"'  # it knows topologies without a flag
    measure = [sys.executable, "-P", "-m", "tests.bench.kueue_harness.engine"]
    measure += [str(folder), str(using.tools["kubectl"]), *command]
    path = folder / engine
    path.write_text(f"#!/bin/sh\nexec {shlex.join(measure)} {flags}\n")
    path.chmod(0o755)
    return path


def _wait(processes: Processes, folder: Path, watch: Watch, every_s: float) -> None:
    """Waits until the runner has ended, and shows now and then how far it is."""
    began, shown = time.monotonic(), 0.0
    while processes.table()["runner"].process() is not None:
        took = time.monotonic() - began
        if took > RECORD_MINUTES_MAX * 60 + STOP_SECONDS_MAX:
            raise StepError(f"the runner has not ended after {took:.0f} s", log=folder / "runner.log")
        if took - shown > every_s:
            shown = took
            if (progress := _progress(folder / "assets" / "kubectl", folder)) is not None:
                watch(time.monotonic() - began, progress)
        time.sleep(0.2)


def _shown(screen: Screen, what: str) -> Watch:
    return lambda took_s, progress: screen.line(f"  {what}: {took_s:.0f} s, {progress}")


def _progress(kubectl: Path, folder: Path) -> Progress | None:
    """Returns None while the API server does not answer."""
    first = _get(kubectl, folder, "workloads?limit=1")
    queues = _get(kubectl, folder, "clusterqueues?resourceVersion=0")
    if first is None or queues is None:
        return None
    created = len(first["items"]) + first["metadata"].get("remainingItemCount", 0)
    states = [queue.get("status", {}) for queue in queues["items"]]
    pending, running = (
        sum(state.get(key, 0) for state in states) for key in ("pendingWorkloads", "reservingWorkloads")
    )
    return Progress(created, pending, running)


def _get(kubectl: Path, folder: Path, path: str) -> dict[str, Any] | None:
    get = [str(kubectl), "--kubeconfig", str(folder / "kubeconfig"), "get", "--raw", f"{_API}/{path}"]
    answer = subprocess.run(get, capture_output=True, text=True, env={**os.environ, "HOME": str(folder)})
    answer_body: dict[str, Any] | None = json.loads(answer.stdout) if answer.returncode == 0 else None
    return answer_body


def _stop(processes: Processes) -> None:
    """Stops the processes of an interrupted run; a complete run leaves none."""
    runner = processes.table().get("runner")
    if runner is not None and (process := runner.process()) is not None:
        stop_all([process], grace_seconds=15)  # SIGTERM lets it stop the engine, the API server and etcd
    processes.stop_everything()
