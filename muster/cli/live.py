"""Options and inputs of the verbs that read a cluster: its objects, history, assumptions, seeds."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from muster.cli import configurations, inputs
from muster.cli.paths import InputPath
from muster.cli.verb import Decorator, exclusive, options, parsed
from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import Configuration, parse
from muster.forecast.assumptions import Assumptions
from muster.forecast.growth_estimates import GrowthEstimate, estimates
from muster.forecast.learning.delays import Delays
from muster.forecast.start_estimates import StartEstimate
from muster.forecast.traces.read import read
from muster.kube.access import default_namespace
from muster.kube.client import Kube
from muster.kube.errors import ConfigError
from muster.kube.kinds import DETAILED_PODS, AnyKind
from muster.live.gang_pods import NO_PODS, PodListing, list_pods
from muster.live.observed import READ, Observed, from_manifests, observed, of_kind
from muster.live.report import assumption_lines
from muster.live.state import ObservedState, live_state, state_with_trace
from muster.objects.kueue import Workload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """The objects of a cluster, and the options to simulate it with."""

    objects: ClusterState
    configuration: Configuration
    assumptions: Assumptions
    fixed: frozenset[str]  # names of the assumptions that the user has set
    seeds: Sequence[int]
    now_ms: int
    history: Path | None = None
    unread: Mapping[str, str] = field(default_factory=dict)

    def state(self, objects: ClusterState) -> ObservedState:
        """Returns the state of these objects: all of the cluster, possibly with a job to try."""
        if self.history is None:
            return live_state(objects, self.configuration, self.now_ms)
        trace = read(self.history).trace
        return state_with_trace(objects, self.configuration, self.now_ms, trace)


@dataclass(frozen=True, slots=True)
class EstimateOptions:
    """The options of verbs that simulate a cluster, in the order of `estimate_options`."""

    queues: Path | None
    kubeconfig: str | None
    context: str | None
    namespace: str
    configuration: Configuration
    history: Path | None
    seeds: int
    assume: Sequence[tuple[str, str]]
    json: bool


manifests_option = click.option(
    "--queues",
    metavar="PATH",
    type=InputPath(),
    help="read the objects, including Workloads, from manifests instead of a cluster",
)
kubeconfig_option = click.option(
    "--kubeconfig",
    metavar="FILE",
    type=InputPath(str),
    help="the cluster (default: $KUBECONFIG, else ~/.kube/config)",
)
context_option = click.option(
    "--context", metavar="NAME", help="context of the kubeconfig (default: the current one)"
)


def namespace_option(of: str) -> Decorator:
    """Returns the --namespace option. It must be declared after the options of the cluster, which determine
    its default."""
    return click.option(
        "-n",
        "--namespace",
        callback=_namespace,
        metavar="NAMESPACE",
        help=f"namespace of {of} (default: the context's)",
    )


def _namespace(context: click.Context, _: click.Parameter, namespace: str | None) -> str:
    return namespace or own_namespace(
        *(context.params.get(name) for name in ("queues", "kubeconfig", "context"))
    )


def own_namespace(manifests: Path | None, kubeconfig: str | None, context: str | None) -> str:
    """Returns the namespace to use if the user gave none."""
    if manifests is not None:
        return "default"
    try:
        return default_namespace(kubeconfig, context)
    except ConfigError:
        return "default"  # the error is reported when the kubeconfig is used


configuration_option = click.option(
    "--configuration",
    metavar="JSON",
    type=parsed(parse),
    default="{}",
    show_default=False,
    help="configuration of the controller, as in `muster controller --configuration` (default: none)",
)
estimate_options = options(
    "opts",
    EstimateOptions,
    manifests_option,
    kubeconfig_option,
    context_option,
    namespace_option("the job"),
    configuration_option,
    click.option(
        "--history",
        metavar="PATH",
        type=InputPath(),
        help="a trace or a folder of journals for run times, in addition to the cluster's finished Workloads",
    ),
    inputs.seeds_option,
    inputs.assume_option,
    click.option("--json", is_flag=True, help="print the answer as JSON"),
)


def read_cluster(opts: EstimateOptions) -> LiveCluster:
    """Reads the objects. Raises: InputError, ObservationError, StatusError, RequestError."""
    observed = objects(opts.queues, opts.kubeconfig, opts.context)
    return LiveCluster(
        objects=observed.cluster,
        configuration=opts.configuration,
        assumptions=inputs.assumptions(opts.assume),
        fixed=frozenset(name for name, _ in opts.assume),
        seeds=range(opts.seeds),
        now_ms=time.time_ns() // 1_000_000,
        history=opts.history,
        unread=observed.unread,
    )


def estimate(
    cluster: LiveCluster, state: ObservedState, key: str, beyond: Mapping[str, int]
) -> tuple[StartEstimate, tuple[GrowthEstimate, ...]]:
    """Returns the estimated start of a workload and the growth of its groups, `beyond` their sizes in pods.
    What the user has not set is learned."""
    learned = delays(cluster, state)
    answer = estimates(state, [key], [key], cluster.assumptions, cluster.seeds, learned, beyond)
    return answer.starts[key], answer.growth.get(key, ())


def growth(cluster: LiveCluster, state: ObservedState, key: str) -> tuple[GrowthEstimate, ...]:
    """Returns the estimated growth of a workload that has started."""
    learned = delays(cluster, state)
    answer = estimates(state, [], [key], cluster.assumptions, cluster.seeds, learned)
    return answer.growth.get(key, ())


def delays(cluster: LiveCluster, state: ObservedState) -> Delays:
    """Returns the delays of the estimates: learned, unless the user has set them."""
    return state.learned.delays.without(cluster.fixed)


def print_assumptions(cluster: LiveCluster, state: ObservedState, start: StartEstimate) -> None:
    """Prints the assumptions of an estimate, including the kinds that could not be read."""
    lines = assumption_lines(state, start, cluster.assumptions, delays(cluster, state))
    missing = (f"there is no {kind}: {why}" for kind, why in cluster.unread.items())
    print("Assumed:", *lines, *missing, sep="\n- ")


def objects(
    manifests: Path | None,
    kubeconfig: str | None,
    context: str | None,
    only: Collection[AnyKind] = READ,
    namespace: str = "",
) -> Observed:
    """Reads the objects of manifests, or lists the objects of a cluster. Raises: as `listed`; InputError."""
    exclusive(queues=manifests, kubeconfig=kubeconfig)
    exclusive(queues=manifests, context=context)
    if manifests:
        return Observed(from_manifests(configurations.manifests_below(manifests), only))
    return listed(kubeconfig, context, only, namespace)


def pods_for(
    workload: Workload, manifests: Path | None, kubeconfig: str | None, context: str | None
) -> PodListing:
    """Returns a listing with the Workload's pods. Raises: as `objects`."""
    if manifests:
        pods = tuple(of_kind(DETAILED_PODS, configurations.manifests_below(manifests)))
        return PodListing(pods) if pods else NO_PODS  # manifests may omit them
    return asyncio.run(_with_client(kubeconfig, context, lambda kube: list_pods(kube, workload)))


def listed(
    kubeconfig: str | None,
    context: str | None = None,
    only: Collection[AnyKind] = READ,
    namespace: str = "",
) -> Observed:
    """Lists the objects of a cluster. Raises: as `observed`."""
    return asyncio.run(_with_client(kubeconfig, context, lambda kube: observed(kube, only, namespace)))


async def _with_client(
    kubeconfig: str | None, context: str | None, read: Callable[[Kube], Awaitable[T]]
) -> T:
    kube = Kube(kubeconfig, context=context)
    try:
        return await read(kube)
    finally:
        await kube.close()
