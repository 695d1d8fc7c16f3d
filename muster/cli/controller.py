"""`muster controller`: runs the controller."""

import argparse
import asyncio
import logging
import os
import socket
import sys
from functools import partial
from pathlib import Path
from uuid import uuid4

from muster.configuration.configuration import DEFAULT, Configuration, parse
from muster.controller.process.health import Address
from muster.controller.process.process import Options, run
from muster.live.eta.announcer import StartAnnouncer
from muster.live.eta.start_range import ANNOTATION


def carry_out(arguments: argparse.Namespace) -> int:
    """Runs until a signal, or until the Lease is lost; returns the exit code."""
    logging.basicConfig(
        level=arguments.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    announcer = partial(StartAnnouncer, arguments.configuration, arguments.journal)
    options = Options(
        kubeconfig=arguments.kubeconfig,
        lease=f"{arguments.lease_namespace}/{arguments.lease_name}",
        identity=arguments.identity,
        address=arguments.http_address,
        configuration=arguments.configuration,
        journal=arguments.journal,
        background=announcer if arguments.eta else None,
    )
    return asyncio.run(run(options))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Watches queued RayJobs, RayClusters and RayServices, reserves quota for whole gangs by priority, "
        "waits for their capacity, and releases or suspends them. Of several controllers the one that holds "
        "the Lease decides; the others wait for it."
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="path of a kubeconfig (default: the pod's ServiceAccount, else $KUBECONFIG)",
    )
    parser.add_argument(
        "--lease-namespace",
        metavar="NAMESPACE",
        default=os.environ.get("POD_NAMESPACE", "muster-system"),
        help="namespace of the Lease (default: $POD_NAMESPACE, else muster-system)",
    )
    parser.add_argument(
        "--lease-name",
        metavar="NAME",
        default="muster-controller",
        help="name of the Lease (default: %(default)s)",
    )
    parser.add_argument(
        "--identity",
        metavar="NAME",
        default=os.environ.get("POD_NAME") or f"{socket.gethostname()}_{uuid4().hex[:8]}",
        help="the holder's name in the Lease, different for every replica "
        "(default: $POD_NAME, else the hostname with a random suffix)",
    )
    parser.add_argument(
        "--http-address",
        metavar="HOST:PORT",
        type=_address,
        default=Address("", 8080),
        help="address to serve /healthz, /readyz and /metrics on (default: :8080)",
    )
    parser.add_argument(
        "--configuration",
        metavar="JSON",
        type=_configuration,
        default=DEFAULT,
        help="waitForPodsReady, fairSharing, objectRetentionPolicies and featureGates as in Kueue's "
        "Configuration, and Muster's own rules, such as "
        '{"waitForPodsReady": {"timeout": "10m"}, "rules": {"backfill": true}} '
        "(default: none)",
    )
    parser.add_argument(
        "--journal",
        metavar="DIR",
        type=Path,
        help="folder, such as a mounted bucket, for a record of every workload that is over, which forecasts "
        "read (default: none is kept)",
    )
    parser.add_argument(
        "--eta",
        action="store_true",
        help="write on pending jobs when they are expected to start, as `muster eta` estimates it "
        f"(annotation {ANNOTATION}; default: not written)",
    )
    parser.add_argument(
        "--log-level",
        default="info",
        choices=["debug", "info", "warning", "error"],
        help="lowest level of log lines on standard error (default: %(default)s)",
    )


def _configuration(text: str) -> Configuration:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
