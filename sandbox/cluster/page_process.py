"""Runs `muster serve` as a local process: the page of a sandbox's queues, with the administrator's rights."""

import sys

from sandbox.cluster.processes import Processes, answers, free_port, wait_until
from tools.toolchain.paths import RunState

NAME = "page"
ENGINES = ("muster", "kueue")
ADDRESS = "--address="
READY_SECONDS_MAX = 30.0


def start_page(state: RunState) -> str:
    """Starts it, and returns its address once it answers. Raises StepError."""
    processes = Processes(state)
    own = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "muster", "serve", f"--kubeconfig={state.kubeconfig}", ADDRESS + own]
    processes.start(NAME, command, restarted=True)
    address = f"http://{own}/"  # not page_address: a process shows its command only after its fork
    wait_until(
        f"an answer of {address}",
        lambda: answers(f"{address}healthz"),
        READY_SECONDS_MAX,
        lambda: processes.check_start(NAME),
    )
    return address


def page_address(state: RunState) -> str:
    """Returns the page's address, empty where it does not run."""
    row = Processes(state).table().get(NAME)
    process = row.process() if row else None
    arguments = process.cmdline() if process else []
    served = [a.removeprefix(ADDRESS) for a in arguments if a.startswith(ADDRESS)]
    return f"http://{served[-1]}/" if served else ""
