"""A decision that needs little of the core runs little of it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import muster.admission
from muster.admission import decide
from muster.admission.pruning.try_everything import TryEverything
from tests.unit.admission.builders import NOW_MS, admitted, queue, snapshot, workload

CORE = Path(muster.admission.__file__).parent
MODULES_MAX = 20


@contextmanager
def modules_that_run() -> Iterator[set[str]]:
    """Collects the modules of the core of which a function is called."""
    names: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(CORE):
            names.add(file.relative_to(CORE).with_suffix("").as_posix())

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield names
    finally:
        sys.setprofile(before)


def test_workload_that_fits_needs_neither_preemption_nor_optional_rules_nor_explanations() -> None:
    of = snapshot(queue("q", 2), workload("w", "q", 1))
    with modules_that_run() as modules:
        plan = decide(of, NOW_MS, pruning=TryEverything)
    assert admitted(plan) == ["w"]
    assert not {
        name for name in modules if name.startswith(("preemption/", "rules/b", "rules/m", "explain/"))
    }
    assert len(modules) <= MODULES_MAX, sorted(modules)
