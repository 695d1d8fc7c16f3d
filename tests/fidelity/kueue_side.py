"""The real Kueue on a real API server."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from lightkube import Client

from sandbox.cluster import kinds, kueue_process
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import Screen
from tests.conformance.differential import kueue_side
from tests.conformance.differential.patience import PatientClient
from tests.conformance.differential.stage import KINDS
from tests.fidelity.cases import FAIR, Case
from tests.fidelity.history import History
from tests.fidelity.real_time import Lateness, Play

CREATED = {"Namespace": kinds.Namespace, **KINDS}


def play(cases: Sequence[Case], screen: Screen) -> tuple[list[History], Lateness]:
    """Plays the cases of a mode of sharing at the same time, in the order of `cases`. Raises: StepError."""
    histories: dict[str, History] = {}
    lateness = Lateness()
    with (
        tempfile.TemporaryDirectory(prefix="muster-fidelity-", ignore_cleanup_errors=True) as folder,
        kueue_side.cluster(RunState("fidelity", checkout=Path(folder)), screen) as (processes, tools),
    ):
        client = kinds.connect(processes.state.kubeconfig)  # never closed: a reflector's thread reads from it
        for controller in sorted({case.controller for case in cases}):
            chosen = [case for case in cases if case.controller == controller]
            settings = kueue_side.FAIR_SETTINGS if controller == FAIR else {}
            kueue_process.start(processes, tools["kueue"], processes.state.kubeconfig, settings)
            _create(client, chosen)
            kueue_side.wait_until_heard(client)
            screen.line(f"playing {', '.join(case.name for case in chosen)} in real time")
            playing = Play(client, chosen)
            histories.update(zip((case.name for case in chosen), playing.run(), strict=True))
            lateness.add(playing.lateness)
            processes.stop(kueue_process.NAME)
    return [histories[case.name] for case in cases], lateness


def _create(client: Client, cases: Sequence[Case]) -> None:
    """Creates the objects that Kueue reads; those of several cases, such as flavors, once."""
    patient = PatientClient(client)
    for case in cases:
        for manifest in case.manifests:
            if manifest["kind"] in CREATED:
                patient.create(CREATED[manifest["kind"]](manifest))
