"""`muster` on the command line."""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys

from muster.controller.loop import Controller
from muster.kube.client import Kube


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run = verbs.add_parser(
        "controller",
        help="admit Ray gangs whole and by priority",
        description="Watches queued RayJobs and RayClusters, reserves quota for whole gangs by priority, "
        "waits for their capacity, and releases or suspends them. One controller a cluster.",
    )
    run.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="how to reach the API server; default: the pod's ServiceAccount, else $KUBECONFIG",
    )
    run.add_argument(
        "--log-level",
        default="info",
        choices=["debug", "info", "warning", "error"],
        help="what to tell on standard error (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    logging.basicConfig(
        level=arguments.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return asyncio.run(_controller(arguments.kubeconfig))


async def _controller(kubeconfig: str | None) -> int:
    """Runs until SIGTERM or SIGINT."""
    kube = Kube(kubeconfig)
    task = asyncio.ensure_future(Controller(kube).run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await kube.close()
    return 0
