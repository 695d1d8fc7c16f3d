"""Inputs of the verbs that ask about a cluster: its objects, history, assumptions, seeds."""

import argparse
import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muster.cli import configurations, inputs
from muster.cli.configurations import InputError
from muster.configuration.configuration import DEFAULT, Configuration, parse
from muster.controller.cluster.cluster_state import ClusterState
from muster.forecast.assumptions import Assumptions
from muster.forecast.futures import SEEDS
from muster.forecast.traces.read import read
from muster.kube.client import Kube
from muster.kube.errors import ConfigError, RequestError, StatusError
from muster.live.observed import READ, ObservationError, Observed, from_manifests, observed
from muster.live.state import LiveState, live_state, state_with_trace


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, and what the command line says about it."""

    objects: ClusterState
    configuration: Configuration
    assumptions: Assumptions
    seeds: Sequence[int]
    now_ms: int
    history: Path | None = None
    unread: Mapping[str, str] = field(default_factory=dict)

    def state(self, objects: ClusterState) -> LiveState:
        """Returns the state of these objects: the cluster's, or those with a job in addition."""
        if self.history is None:
            return live_state(objects, self.configuration, self.now_ms)
        trace = read(self.history).trace
        return state_with_trace(objects, self.configuration, self.now_ms, trace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that these verbs share."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--queues", metavar="PATH", type=Path, help="manifests of the cluster, with its Workloads, instead"
    )
    source.add_argument(
        "--kubeconfig", metavar="FILE", help="the cluster (default: $KUBECONFIG, else ~/.kube/config)"
    )
    parser.add_argument("-n", "--namespace", default="default", help="(default: %(default)s)")
    parser.add_argument(
        "--configuration",
        metavar="JSON",
        type=_configuration,
        default=DEFAULT,
        help="the controller's, as in `muster controller --configuration` (default: none)",
    )
    parser.add_argument(
        "--history",
        metavar="PATH",
        type=Path,
        help="a trace or a folder of journals, for run times (beside the cluster's finished Workloads)",
    )
    parser.add_argument(
        "--seeds",
        type=inputs.count,
        default=SEEDS,
        metavar="N",
        help="futures to simulate (default: %(default)s)",
    )
    parser.add_argument(
        "--assume",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=inputs.pair,
        help="replaces a default assumption; `muster forecast --assumptions` lists them",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def carry_out(verb: str, command: Callable[[], int]) -> int:
    """Runs a command; errors of input and of the API server are printed and give the exit code 2."""
    return inputs.carry_out(verb, lambda: _without_errors(command))


def _without_errors(command: Callable[[], int]) -> int:
    try:
        return command()
    except ObservationError as error:
        raise InputError(str(error)) from error
    except StatusError as error:
        raise InputError(f"the API server refused: {error.status.message}") from error
    except RequestError as error:
        raise InputError(f"the API server does not answer: {error}") from error
    except ConfigError as error:
        raise InputError(f"{error}; give --kubeconfig FILE, or --queues PATH") from error


def read_cluster(arguments: argparse.Namespace) -> Cluster:
    """Reads the objects. Raises: InputError, ObservationError, and those of the API server."""
    found = _objects(arguments)
    return Cluster(
        objects=found.cluster,
        configuration=arguments.configuration,
        assumptions=inputs.assumptions(arguments.assume),
        seeds=range(arguments.seeds),
        now_ms=time.time_ns() // 1_000_000,
        history=arguments.history,
        unread=found.unread,
    )


def print_assumptions(lines: Iterable[str], unread: Mapping[str, str]) -> None:
    """Prints what an answer rests on."""
    missing = (f"there is no {kind}: {why}" for kind, why in unread.items())
    print("Assumed:", *lines, *missing, sep="\n- ")


def _objects(arguments: argparse.Namespace) -> Observed:
    if arguments.queues:
        return Observed(from_manifests(configurations.manifests_below(arguments.queues)))
    return listed(arguments.kubeconfig)


def listed(kubeconfig: str | None, only: Collection[str] = tuple(READ)) -> Observed:
    """Lists the objects of a cluster. Raises: as `observed`."""
    return asyncio.run(_list(kubeconfig, only))


async def _list(kubeconfig: str | None, only: Collection[str]) -> Observed:
    kube = Kube(kubeconfig)
    try:
        return await observed(kube, only)
    finally:
        await kube.close()


def _configuration(text: str) -> Configuration:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
