"""Simulates candidates as Ray tasks, on this machine or on an existing cluster."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import muster
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.goals import Measured
from muster.forecast.recommend.tasks import SearchInputs, Task, measure

LOCAL = "local"
INSTALL = 'pip install ".[ray]" in a checkout'


class RayTasks:
    """Runs tasks on Ray. Nodes of a cluster at an `address` receive this package's code; their image must
    have its dependencies.

    Raises: RecommendError if Ray is not installed or there is no cluster at the address."""

    def __init__(self, request: SearchInputs, address: str = LOCAL) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise RecommendError(f"--ray: ray cannot be imported; install it: {INSTALL}") from None
        code = {} if address == LOCAL else {"py_modules": [str(Path(muster.__file__).parent)]}
        try:
            self._ray.init(address=address, runtime_env=code, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise RecommendError(
                f"--ray {address}: {error}; expected local, auto or the address of a cluster"
            ) from error
        self._request = self._ray.put(request)
        self._measure = self._ray.remote(measure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ray.shutdown()

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Measured]]:
        """Runs all tasks on the Ray cluster. Yields the index and the result of each as it ends."""
        pending = {self._measure.remote(self._request, task): number for number, task in enumerate(tasks)}
        while pending:
            done, _ = self._ray.wait(list(pending), num_returns=1)
            for reference in done:
                result: Measured = self._ray.get(reference)
                yield pending.pop(reference), result
