"""Runs AccaSim on an SWF file and prints its CPU seconds; executed by AccaSim's own environment.

Arguments: the SWF file, the number of cores, a folder for its output. AccaSim 1.1.3 imports abstract classes
from `collections`, from where Python 3.10 removed them.
"""

import collections
import collections.abc
import json
import logging
import sys
import time
from pathlib import Path

for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))

from accasim.base.allocator_class import FirstFit  # type: ignore[import-not-found]  # noqa: E402
from accasim.base.scheduler_class import FirstInFirstOut  # type: ignore[import-not-found]  # noqa: E402
from accasim.base.simulator_class import Simulator  # type: ignore[import-not-found]  # noqa: E402

swf, cores, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
system = {"groups": {"g0": {"core": 1}}, "resources": {"g0": cores}, "system_name": "bench", "start_time": 0}
(folder / "system.json").write_text(json.dumps(system))
logging.disable(logging.CRITICAL)
began = time.process_time()
simulator = Simulator(
    swf, str(folder / "system.json"), FirstInFirstOut(FirstFit()), RESULTS_FOLDER_PATH=str(folder)
)
simulator.start_simulation()
print(time.process_time() - began)
