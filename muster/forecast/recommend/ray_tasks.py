"""Simulations of candidates as Ray tasks: on a cluster that Ray starts on this machine, or on one's own."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import muster
from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.goals import Measured
from muster.forecast.recommend.tasks import Request, Task, measure

LOCAL = "local"
INSTALL = 'pip install ".[ray]" in a checkout'


class RayTasks:
    """Runs tasks on Ray. Nodes of a cluster at an `address` get this package's code from here; their image
    has to have its dependencies.

    Raises: RecommendError without Ray, or without a cluster at the address."""

    def __init__(self, request: Request, address: str = LOCAL) -> None:
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
        left = {self._measure.remote(self._request, task): number for number, task in enumerate(tasks)}
        while left:
            done, _ = self._ray.wait(list(left), num_returns=1)
            for reference in done:
                found: Measured = self._ray.get(reference)
                yield left.pop(reference), found
