"""The controller as a process: its connections, its candidacy, its probes and its end."""

import asyncio
import logging
import signal
import time
from dataclasses import dataclass
from random import Random

import prometheus_client

from muster.controller.configuration import Configuration
from muster.controller.health import Address, served
from muster.controller.loop import LOOK_AGAIN_S_MAX, Controller, wall_clock_ms
from muster.controller.metrics import Metrics
from muster.kube.client import Kube, NotLeading
from muster.kube.lease import Election

log = logging.getLogger(__name__)

STILL_MS_MAX = round(5 * LOOK_AGAIN_S_MAX * 1000)  # even with nothing to do it looks once a LOOK_AGAIN_S_MAX


@dataclass(frozen=True)
class Options:
    """`lease` is namespace/name; `kubeconfig` None: the pod's ServiceAccount, else $KUBECONFIG."""

    kubeconfig: str | None
    lease: str
    identity: str
    address: Address
    configuration: Configuration


async def run(options: Options) -> int:
    """Until SIGTERM or SIGINT (0), or until the leadership is lost (1): who starts it again starts afresh."""
    own = Kube(options.kubeconfig)  # renewals never queue up behind the writes of a pass
    election = Election(
        own,
        options.lease,
        options.identity,
        clock_s=time.monotonic,
        now_ms=wall_clock_ms,
        random=Random(),
    )
    kube = Kube(options.kubeconfig, election.write_seconds)
    # twice the series, and nobody asks when one began
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # no types there
    metrics = Metrics(lambda: election.leads)
    controller = Controller(kube, wall_clock_ms, election, metrics, options.configuration)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, controller.stop)
    probes = {"/healthz": lambda: _unhealthy(controller), "/readyz": lambda: _unready(controller)}
    code = 0
    with served(options.address, probes, metrics.registry):
        try:
            await controller.run()
        except* NotLeading as lost:
            log.error("%s", lost.exceptions[0])
            code = 1
    await kube.close()
    await own.close()
    return code


def _unhealthy(controller: Controller) -> str:
    still_ms = controller.still_for_ms()
    return f"nothing has moved for {still_ms // 1000} s" if still_ms > STILL_MS_MAX else ""


def _unready(controller: Controller) -> str:
    return "" if controller.synced else "not in step with the API server yet"
