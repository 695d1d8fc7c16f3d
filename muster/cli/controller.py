"""`muster controller`: runs the controller."""

import logging
import socket
import sys
from functools import partial
from pathlib import Path
from uuid import uuid4

import click
import uvloop

from muster.cli.paths import FolderPath, InputPath
from muster.cli.verb import parsed, verb
from muster.configuration.address import Address
from muster.configuration.configuration import Configuration, parse
from muster.controller.process.process import Options, run
from muster.controller.process.start_announcer import StartAnnouncer
from muster.objects.names import ETA_ANNOTATION


@verb(
    "Watches queued RayJobs, RayClusters and RayServices, reserves quota for whole gangs by priority, waits "
    "for their capacity, and releases or suspends them. Only the replica that holds the Lease decides; the "
    "others wait for the Lease."
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=InputPath(str),
    help="path of a kubeconfig (default: the pod's ServiceAccount, else $KUBECONFIG)",
)
@click.option(
    "--lease-namespace",
    metavar="NAMESPACE",
    envvar="POD_NAMESPACE",
    default="muster-system",
    show_default="$POD_NAMESPACE, else muster-system",
    help="namespace of the Lease",
)
@click.option("--lease-name", metavar="NAME", default="muster-controller", help="name of the Lease")
@click.option(
    "--identity",
    metavar="NAME",
    envvar="POD_NAME",
    default=lambda: f"{socket.gethostname()}_{uuid4().hex[:8]}",
    show_default="$POD_NAME, else the hostname with a random suffix",
    help="holder identity in the Lease, unique to each replica",
)
@click.option(
    "--http-address",
    metavar="HOST:PORT",
    type=parsed(Address.parse),
    default=":8080",
    help="address to serve /healthz, /readyz and /metrics on",
)
@click.option(
    "--configuration",
    metavar="JSON",
    type=parsed(parse),
    default="{}",
    show_default=False,
    help="waitForPodsReady, fairSharing, objectRetentionPolicies and featureGates as in Kueue's "
    "Configuration, and Muster's own rules, such as "
    '{"waitForPodsReady": {"timeout": "10m"}, "rules": {"backfill": true}} '
    "(default: none)",
)
@click.option(
    "--journal",
    metavar="DIR",
    type=FolderPath(),
    help="folder, such as a mounted bucket, for records of finished workloads, which forecasts read "
    "(default: no journal)",
)
@click.option(
    "--eta",
    is_flag=True,
    show_default=False,
    help="annotate pending jobs with their estimated start, as `muster eta` computes it "
    f"(annotation {ETA_ANNOTATION}; default: no annotation)",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    help="minimum level of log lines on standard error",
)
def command(
    *,
    kubeconfig: str | None,
    lease_namespace: str,
    lease_name: str,
    identity: str,
    http_address: Address,
    configuration: Configuration,
    journal: Path | None,
    eta: bool,
    log_level: str,
) -> int:
    """Runs until a signal, or until the Lease is lost; returns the exit code."""
    logging.basicConfig(
        level=log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    options = Options(
        kubeconfig=kubeconfig,
        lease=f"{lease_namespace}/{lease_name}",
        identity=identity,
        address=http_address,
        configuration=configuration,
        journal=journal,
        background=partial(StartAnnouncer, configuration, journal) if eta else None,
    )
    return uvloop.run(run(options))
