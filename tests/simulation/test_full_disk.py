"""A disk without space: the controller continues without its log."""

import errno
import io
import logging
import os

from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation


class FullDisk(io.TextIOBase):
    """Counts the writes that it refuses."""

    def __init__(self) -> None:
        self.refused = 0

    def write(self, text: str, /) -> int:
        self.refused += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_cannot_be_written_does_not_stop_admission() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    disk, logger = FullDisk(), logging.getLogger("muster")
    handler, level = logging.StreamHandler(disk), logger.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        Simulation(1, local_stack()).run(story)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert disk.refused > 0
