"""The controller as a process: connections, election, probes and exit code."""

import asyncio
import gc
import logging
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import prometheus_client

from muster.configuration.address import Address
from muster.configuration.configuration import Configuration
from muster.controller.journal.journal import Journal
from muster.controller.metrics.gauges import WatchAges
from muster.controller.metrics.metrics import Metrics
from muster.controller.metrics.observer import Background, Observer
from muster.controller.process.health import Health, served
from muster.controller.process.loop import PASS_INTERVAL_S_MAX, Controller, wall_clock_ms
from muster.journal.files import JournalFiles
from muster.journal.writer import JournalWriter
from muster.kube.access import access
from muster.kube.client import Kube, NotLeading
from muster.kube.history import History
from muster.kube.reflector import SILENT_S_MAX
from muster.kube.store import OBJECTS_A_COLLECTION
from muster.kube.threads import ElectionThread, StreamThread

log = logging.getLogger(__name__)

LATE_S_MAX = SILENT_S_MAX + 20.0  # a broken watch is noticed and replaced within this time
BLIND_S_MAX = 300.0  # an outage of the API server is shorter; a restart would not help
STALLED_MS_MAX = round(
    5 * PASS_INTERVAL_S_MAX * 1000
)  # an idle controller runs a pass every PASS_INTERVAL_S_MAX


@dataclass(frozen=True)
class Options:
    """The options of the process."""

    # None: the pod's ServiceAccount, else $KUBECONFIG.
    kubeconfig: str | None
    # The namespace and name of the Lease, with a slash between them.
    lease: str
    # The holder's identity in the Lease.
    identity: str
    # Of probes and metrics.
    address: Address
    configuration: Configuration
    # The folder of the journal; None: no journal is kept.
    journal: Path | None = None
    # Creates an observer that also works concurrently with the passes.
    background: Callable[[Metrics], Background] | None = None


class Controllers:
    """Runs a new Controller from `create`, and another each time that the history goes back: it has empty
    stores, and remembers no writes, back-offs or decisions. `current` is the running Controller."""

    def __init__(self, create: Callable[[], Controller], history: History) -> None:
        self._create, self._history = create, history
        self._stopped = False
        self.current = create()

    def stop(self) -> None:
        """Ends `run` after the current pass."""
        self._stopped = True
        self.current.stop()

    async def run(self) -> None:
        """Runs until `stop`. Raises what a Controller raises."""
        await self.current.run()
        while self._history.went_back and not self._stopped:
            self._history.restart()
            self.current = self._create()
            gc.collect()  # frees the stores of the last Controller, which have reference cycles
            await self.current.run()


async def run(options: Options) -> int:
    """Runs until SIGTERM or SIGINT (returns 0), or until leadership is lost (returns 1), for a restart."""
    gc.set_threshold(OBJECTS_A_COLLECTION)
    history = History()
    own = Kube(options.kubeconfig)  # separate, so that renewals never wait for the writes of a pass
    election = ElectionThread(
        own,
        options.lease,
        options.identity,
        clock_s=time.monotonic,
        now_ms=wall_clock_ms,
        random=Random(),
        history=history,
    )
    streams = StreamThread(access(options.kubeconfig))
    kube = Kube(options.kubeconfig, election.write_seconds, streams=streams)
    # Times of creation would double the number of series, and nothing uses them.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # no types there
    metrics = Metrics(lambda: election.is_leader)
    journal = journal_writer(options, metrics)
    background = options.background(metrics) if options.background else Background()
    observers: list[Observer] = [metrics, background]
    if journal is not None:
        observers.append(Journal(journal.put, metrics.journal_failed, background.estimates))
    controllers = Controllers(
        lambda: Controller(kube, wall_clock_ms, election, observers, options.configuration, history=history),
        history,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, controllers.stop)
    metrics.registry.register(WatchAges(lambda: controllers.current.watch_ages_s()))
    probes = {
        "/healthz": lambda: alive(controllers.current),
        "/readyz": lambda: ready(controllers.current),
    }
    code = 0
    with served(options.address, probes, metrics.registry):
        try:
            async with election.begun(), streams.begun(), concurrently(background.run(kube)):
                await controllers.run()
        except* NotLeading as lost:
            log.error("%s", lost.exceptions[0])
            code = 1
    if journal is not None:
        await asyncio.to_thread(journal.stop)
    await kube.close()
    return code


@asynccontextmanager
async def concurrently(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Runs a coroutine until the end of the block. Logs its errors; they do not reach the block."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_error)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the background task has failed", exc_info=error)


def journal_writer(options: Options, metrics: Metrics) -> JournalWriter | None:
    """Starts the writer of the journal, if one is kept."""
    if options.journal is None:
        return None
    files = JournalFiles(options.journal, options.identity)
    writer = JournalWriter(files, metrics.journal_lost, metrics.journal_failed)
    writer.start()
    return writer


def alive(controller: Controller) -> Health:
    """Returns whether the controller works without a restart, with the age of each watch's last event."""
    stalled_ms, ages_s = controller.stalled_ms(), controller.watch_ages_s()
    if stalled_ms > STALLED_MS_MAX:
        return Health(False, f"no progress for {stalled_ms // 1000} s")
    blind = _older_than(BLIND_S_MAX, ages_s)
    if blind:
        return Health(False, f"no event from the API server for more than {BLIND_S_MAX:.0f} s: {blind}")
    ages = ", ".join(f"{name} {age_s:.0f} s" for name, age_s in sorted(ages_s.items()))
    return Health(True, f"ok; time since the last event, by watch: {ages or 'none yet'}")


def ready(controller: Controller) -> Health:
    """Returns whether the stores are complete and, by the ages of the watches, up to date."""
    if not controller.synced:
        return Health(False, "not synced with the API server yet")
    late = _older_than(LATE_S_MAX, controller.watch_ages_s())
    return Health(
        not late,
        f"no event from the API server for more than {LATE_S_MAX:.0f} s: {late}" if late else "ok",
    )


def _older_than(bound_s: float, ages_s: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {age_s:.0f} s" for name, age_s in sorted(ages_s.items()) if age_s > bound_s)
