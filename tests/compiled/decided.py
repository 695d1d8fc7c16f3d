"""Prints what the core decides on random clusters, one line each: the same with every build of the core."""

import sys
from collections.abc import Sequence

from hypothesis import Phase, given, seed, settings
from hypothesis.strategies import one_of

from muster import admission as core
from tests.unit.admission.builders import NOW_MS
from tests.unit.admission.strategies import crowds, snapshots


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0])

    @seed(0)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate])
    @given(one_of(snapshots(), crowds()))
    def show(snapshot: core.Snapshot) -> None:
        print(core.Engine(snapshot).decide(NOW_MS))

    show()


if __name__ == "__main__":
    main(sys.argv[1:])
