"""Lets worker processes exchange objects of the admission core.

mypyc's classes lack the `__setstate__` of frozen dataclasses: objects of the compiled core would be pickled,
but not unpickled.
"""

import copyreg
from dataclasses import fields, is_dataclass
from typing import Any

from muster import admission as core
from muster.admission import lifecycle


def register() -> None:
    """Pickles the core's dataclasses as the arguments of their constructors."""
    for value in (*vars(core).values(), *vars(lifecycle).values()):
        if isinstance(value, type) and is_dataclass(value):
            copyreg.pickle(value, _reduced)


def _reduced(value: Any) -> tuple[type, tuple[Any, ...]]:
    return type(value), tuple(getattr(value, field.name) for field in fields(value))
