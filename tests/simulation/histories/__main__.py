"""`make fuzz`: plays random histories on all cores, and shortens failing ones.

`--replay FILE` plays a recorded history, with the last writes before it broke.
"""

import argparse
import sys
from pathlib import Path

from tests.simulation.histories.generate import ACTIONS
from tests.simulation.histories.runner import fuzz, replay


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    without = tuple(set(ACTIONS) - set(options.only or ACTIONS))
    return fuzz(range(options.seed, options.seed + options.histories), without, options.failures)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--histories", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument(
        "--failures", type=int, default=1, help="number of different failures to stop after (1)"
    )
    parser.add_argument("--only", nargs="*", choices=sorted(ACTIONS), help="draw only these actions")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="play this history instead")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
