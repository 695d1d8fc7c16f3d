"""CEL for queued jobs without a field that suspends them, such as LeaderWorkerSets.

They are suspended while their number of groups is 0; an annotation has the number that they start with. A
mutation moves the number into the annotation when a user creates a queued job, and when a user writes the
number of a waiting one, so that the same manifest can be applied again. It restores a removed annotation.
"""

from components.admission.ray import any_is_true, value_at
from muster.cluster.jobs.job_kind import JobKind


def is_suspended(kind: JobKind, root: str) -> str:
    """CEL for: the queue has not started the job, or has stopped it."""
    return f"({_number(kind, root)} == 0)" if kind.count_annotation else any_is_true(root, kind.suspends)


def number_of_groups(kind: JobKind, root: str) -> str:
    """CEL for the number of groups that run, or that the job starts with; 0 if the annotation has none."""
    number, text = _number(kind, root), _annotation(kind, root)
    starts_with = f"({text}.matches('^[0-9]{{1,9}}$') ? int({text}) : 0)"
    return f"({number} != 0 ? int({number}) : {starts_with})"


def suspending_object(kind: JobKind) -> str:
    """CEL for the object by which a mutation suspends a new job, and keeps a waiting one suspended."""
    *parents, last = kind.suspend.split(".")
    assert parents == ["spec"], "a count outside of spec needs the types of its parents"
    waits = f'request.operation == "CREATE" || {is_suspended(kind, "oldObject")}'
    now, before = (number_of_groups(kind, root) for root in ("object", "oldObject"))
    number = f'({now} > 0 || request.operation == "CREATE" ? {now} : {before})'
    annotations = f'{{"{kind.count_annotation}": string({number})}}'
    return (
        f"Object{{metadata: Object.metadata{{annotations: {annotations}}}, "
        f"spec: Object.spec{{{last}: {waits} ? 0 : {_number(kind, 'object')}}}}}"
    )


def _number(kind: JobKind, root: str) -> str:
    return value_at(root, kind.suspend, "1")


def _annotation(kind: JobKind, root: str) -> str:
    return f'{root}.metadata.?annotations[?"{kind.count_annotation}"].orValue("")'
