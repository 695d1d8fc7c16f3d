"""`muster serve`: serves a live, read-only page of a cluster's queues."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Collection

import click

from muster.cli.live import configuration_option, context_option, kubeconfig_option
from muster.cli.verb import InputError, parsed, verb
from muster.configuration.address import Address
from muster.configuration.configuration import Configuration
from muster.kube.client import Kube
from muster.live.page.board import Board
from muster.live.page.safety import LOCAL_HOSTS
from muster.live.page.server import served
from muster.live.page.watching import Watching


@verb(
    "Serves a live page of a cluster's queues, workloads, provisioning requests and preemptions. It only "
    "reads, with the permissions of the kubeconfig, and shows the objects to every client that reaches its "
    "address: by default all users of this machine. Works with the engines muster and kueue."
)
@kubeconfig_option
@context_option
@click.option(
    "--address",
    metavar="HOST:PORT",
    type=parsed(Address.parse),
    default="127.0.0.1:8090",
    help="address to serve on; port 0 chooses a free one",
)
@click.option(
    "--host-name",
    "host_names",
    metavar="NAME",
    multiple=True,
    help="a further host name of the page, such as a gateway's; requests for other hosts are refused "
    "(repeatable; default: localhost and its addresses)",
)
@configuration_option
def command(
    kubeconfig: str | None,
    context: str | None,
    address: Address,
    host_names: tuple[str, ...],
    configuration: Configuration,
) -> int:
    """Runs until a signal; returns the exit code."""
    logging.basicConfig(level="WARNING", stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    hosts = LOCAL_HOSTS | {name.lower() for name in host_names}
    return asyncio.run(_run(Kube(kubeconfig, context=context), Board(configuration), address, hosts))


async def _run(kube: Kube, board: Board, address: Address, hosts: Collection[str]) -> int:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        async with contextlib.AsyncExitStack() as stack:
            page = served(lambda changed: Watching(kube, changed), board, *address, hosts)
            try:
                port = await stack.enter_async_context(page)
            except OSError as error:
                raise InputError(f"--address: {error.strerror or error}") from error
            print(f"http://{_shown(address.host)}:{port}/", flush=True)
            await stopped.wait()
    finally:
        await kube.close()
    return 0


def _shown(host: str) -> str:
    """Returns the host name of the page's URL for a browser on this machine."""
    if host in ("", "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
