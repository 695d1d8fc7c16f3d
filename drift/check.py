"""Compares all objects of a deployed stack with the live ones, in all of its clusters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass

from drift.comparison import Drift, compare
from drift.deployed import Declared, Deployed
from drift.fix import fix
from drift.undeclared import Scope, undeclared
from preview.resources.kubernetes_cluster import NoClusterError, connect
from preview.resources.kubernetes_writes import refusal
from preview.resources.refusals import RefusedError
from preview.resources.values import opened
from tools.kubernetes import ApiError, ApiServer, UnreachableError
from tools.toolchain.steps import StepError

CALLS_AT_ONCE = 8
ACCESS = "the account needs get, list, patch and update of what the stack declares, also for dry runs"


@dataclass(frozen=True)
class Cluster:
    """One cluster and the stack's objects in it."""

    api: ApiServer
    objects: Sequence[Declared]
    releases: frozenset[tuple[str, str]]

    def drift(self) -> Iterator[Drift]:
        """Yields the differences, declared objects first. Raises StepError if the comparison fails."""
        with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
            yield from filter(None, pool.map(self._compared, self.objects))
        try:
            yield from undeclared(self.api, Scope(self.objects, self.releases))
        except (ApiError, UnreachableError) as error:
            raise StepError(f"cannot list the cluster's objects: {error}", try_this=ACCESS) from error

    def _compared(self, declared: Declared) -> Drift | None:
        try:
            return compare(self.api, declared)
        except (ApiError, UnreachableError) as error:
            raise StepError(
                str(refusal("compare", opened(declared.manifest), error)), try_this=ACCESS
            ) from error


class Clusters:
    """The clusters of a deployed stack. A context manager, which closes the connections."""

    def __init__(self, deployed: Deployed, environment: Mapping[str, str]) -> None:
        self._open = ExitStack()
        self._clusters: list[Cluster] = []
        by_provider: dict[str, list[Declared]] = {}
        for declared in deployed.objects:
            by_provider.setdefault(declared.provider, []).append(declared)
        for provider, objects in by_provider.items():
            inputs = opened(deployed.providers[provider])
            try:
                api = connect({k: v for k, v in inputs.items() if not k.startswith("__")}, environment)
            except (NoClusterError, RefusedError) as error:
                raise StepError(str(error)) from error
            self._clusters.append(Cluster(self._open.enter_context(closing(api)), objects, deployed.releases))

    def __enter__(self) -> "Clusters":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def drift(self) -> list[Drift]:
        """Returns all differences."""
        return [drift for cluster in self._clusters for drift in cluster.drift()]

    def fix(self, drifts: Iterable[Drift]) -> list[str]:
        """Reverts drift; returns a reason for each object that could not be reverted."""
        refused = []
        for drift in drifts:
            try:
                fix(drift)
            except RefusedError as error:
                refused.append(str(error))
        return refused
