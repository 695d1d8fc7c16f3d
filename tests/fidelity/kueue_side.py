"""The real Kueue on a real API server."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from lightkube import Client

from sandbox.cluster import kinds, kueue_process
from tests.conformance.differential import kueue_side
from tests.conformance.differential.patience import PatientClient
from tests.conformance.differential.stage import KINDS
from tests.fidelity.cases import FAIR, Case
from tests.fidelity.history import History
from tests.fidelity.real_time import Lateness, Play
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

CREATED = {"Namespace": kinds.Namespace, **KINDS}


def play(cases: Sequence[Case], pace: float, screen: Screen) -> tuple[list[History], Lateness]:
    """Plays all cases at the same time, with one cluster for each mode of sharing; returns what
    happened in the order of `cases`. Raises: StepError."""
    histories: dict[str, History] = {}
    lateness = Lateness()
    with ExitStack() as clusters:
        plays: list[Play] = []
        for controller in sorted({case.controller for case in cases}):
            chosen = [case for case in cases if case.controller == controller]
            plays.append(Play(_connect(clusters, chosen, screen), chosen, pace))
        longest_s = max(job.submit_s for case in cases for job in case.jobs) / pace
        screen.line(
            f"playing {', '.join(case.name for case in cases)}; submissions take {longest_s / 60:.0f} min"
        )
        for playing in plays:
            playing.start()
        while sum(playing.step() for playing in plays):
            pass
        for playing in plays:
            histories |= playing.stop()
            lateness.add(playing.lateness)
    return [histories[case.name] for case in cases], lateness


def _connect(clusters: ExitStack, cases: Sequence[Case], screen: Screen) -> Client:
    """Starts a cluster with Kueue and the objects of the cases, which share a mode of sharing."""
    folder = clusters.enter_context(
        tempfile.TemporaryDirectory(prefix="muster-fidelity-", ignore_cleanup_errors=True)
    )
    state = RunState("fidelity", checkout=Path(folder))
    processes, tools = clusters.enter_context(kueue_side.cluster(state, screen))
    client = kinds.connect(state.kubeconfig)  # never closed: a reflector's thread reads from it
    settings = kueue_side.FAIR_SETTINGS if cases[0].controller == FAIR else {}
    kueue_process.start(processes, tools["kueue"], state.kubeconfig, settings)
    _create(client, cases)
    kueue_side.wait_until_heard(client)
    return client


def _create(client: Client, cases: Sequence[Case]) -> None:
    """Creates the objects that Kueue reads; shared objects, such as flavors, once."""
    patient = PatientClient(client)
    for case in cases:
        for manifest in case.manifests:
            if manifest["kind"] in CREATED:
                patient.create(CREATED[manifest["kind"]](manifest))
