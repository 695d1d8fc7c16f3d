"""Makes a failure smaller: fewer objects, edits and settings."""

from collections.abc import Callable
from dataclasses import replace

from tests.field_fuzzing.fuzz import Failure

TRIALS_MAX = 12


def shrunk(failure: Failure, fails: Callable[[Failure], bool]) -> Failure:
    """Returns the failure with fewer edits and settings, if it still fails; else unchanged."""
    subject, trials = failure.subject, 0
    if subject is None:
        return failure
    smaller = [replace(failure, edits=())] if failure.edits else []
    smaller += [replace(failure, subject=replace(subject, settings=()))] if subject.settings else []
    while trials < TRIALS_MAX:
        for candidate in smaller or _smaller(failure):
            trials += 1
            if fails(candidate):
                failure, smaller = candidate, []
                break
            if trials >= TRIALS_MAX:
                return failure
        else:
            if not smaller:
                return failure
            smaller = []
    return failure


def _smaller(failure: Failure) -> list[Failure]:
    assert failure.subject is not None
    edits, settings = failure.edits, failure.subject.settings
    return [
        *(replace(failure, edits=edits[:i] + edits[i + 1 :]) for i in range(len(edits))),
        *(replace(failure, subject=failure.subject.without(i)) for i in range(len(settings))),
    ]
