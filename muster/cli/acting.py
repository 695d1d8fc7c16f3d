"""Options and client of the verbs that act on a cluster."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from muster.cli import live
from muster.cli.verb import InputError, options
from muster.kube.client import Kube, WriteError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """The cluster and namespace to act on, in the order of `target_options`."""

    kubeconfig: str | None
    context: str | None
    namespace: str


target_options = options(
    "target",
    ClusterContext,
    live.kubeconfig_option,
    live.context_option,
    live.namespace_option("the object"),
)


def run(target: ClusterContext, work: Callable[[Kube], Awaitable[T]]) -> T:
    """Runs `work` with a client of the cluster. Raises: InputError with the API server's message if a write
    is refused; StatusError and RequestError of reads."""

    async def connected() -> T:
        kube = Kube(target.kubeconfig, context=target.context)
        try:
            return await work(kube)
        finally:
            await kube.close()

    try:
        return asyncio.run(connected())
    except WriteError as error:
        raise InputError(f"the API server refused: {error.message}") from error
