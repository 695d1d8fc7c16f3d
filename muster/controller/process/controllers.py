"""One Controller after another: each ends when the API server's history goes back."""

import gc
from collections.abc import Callable

from muster.controller.process.loop import Controller
from muster.kube.history import History


class Controllers:
    """Runs the Controller that `create` returns, and another one whenever the history has gone back. Its
    stores are empty, and it remembers no writes, back-offs or decisions. `current` is the one that runs."""

    def __init__(self, create: Callable[[], Controller], history: History) -> None:
        self._create, self._history = create, history
        self._stopped = False
        self.current = create()

    def stop(self) -> None:
        """Ends `run` after the current pass."""
        self._stopped = True
        self.current.stop()

    async def run(self) -> None:
        """Runs until `stop`. Raises what a Controller raises."""
        await self.current.run()
        while self._history.went_back and not self._stopped:
            self._history.restart()
            self.current = self._create()
            gc.collect()  # the stores of the last one have cycles, and would stay in memory with the new ones
            await self.current.run()
