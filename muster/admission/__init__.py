"""The pure core: a snapshot in, a plan out. Standard library only, no I/O, no clock, no logging."""

from muster.admission import lifecycle, model, quantities
from muster.admission.engine.budget_usage import BudgetUsage
from muster.admission.engine.engine import Engine, decide
from muster.admission.engine.live_state import Timers
from muster.admission.engine.quota_usage import ColumnUsage, NodeUsage
from muster.admission.errors import AdmissionError, QuantityError, SnapshotError
from muster.admission.model import *  # noqa: F403 - each value is named once, in its module
from muster.admission.validation import check_quotas, check_workload

__all__ = [
    "AdmissionError",
    "BudgetUsage",
    "ColumnUsage",
    "Engine",
    "NodeUsage",
    "QuantityError",
    "SnapshotError",
    "Timers",
    "check_quotas",
    "check_workload",
    "decide",
    "lifecycle",
    "quantities",
    *model.__all__,
]
