"""Runs `muster serve` as a local process: the page of a sandbox's queues, with the administrator's rights."""

import sys

from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until
from tools.toolchain.paths import RunState

NAME = "page"
ENGINES = ("muster", "kueue")
FILE = "page"
"""The file of the run state with the page's address."""
READY_SECONDS_MAX = 30.0


def start_page(state: RunState) -> str:
    """Starts it, and returns its address once it answers. Raises StepError."""
    processes = Processes(state)
    own = f"127.0.0.1:{free_port()}"
    command = [
        sys.executable,
        "-m",
        "muster",
        "serve",
        f"--kubeconfig={state.kubeconfig}",
        f"--address={own}",
    ]
    processes.start(NAME, command, restarted=True)
    address = f"http://{own}/"
    wait_until(
        f"an answer of {address}",
        lambda: answers(f"{address}healthz"),
        READY_SECONDS_MAX,
        lambda: processes.check_start(NAME),
    )
    save_address(state, address)
    return address


def save_address(state: RunState, address: str) -> None:
    """Saves the address of the page, which this process serves or forwards."""
    (state.root / FILE).write_text(address)


def page_address(state: RunState) -> str:
    """Returns the page's address, empty where it does not run."""
    row = Processes(state).table().get(NAME)
    file = state.root / FILE
    return file.read_text() if row is not None and row.process() and file.exists() else ""
