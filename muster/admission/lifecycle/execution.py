"""Maximum execution time: how long a gang may run, over all its admissions together.

Source: Kueue pkg/controller/core/workload_controller.go (reconcileMaxExecutionTime) and
pkg/workload/admissionchecks.go (SyncAdmittedCondition, which adds up what has passed).
"""


def deadline_ms(limit_s: int, past_s: int, admitted_at_ms: int) -> int:
    """When the time is over. `past_s`: what earlier admissions have used up of it."""
    return admitted_at_ms + (limit_s - past_s) * 1000


def used_execution_s(past_s: int, admitted_at_ms: int, now_ms: int) -> int:
    """Time used, with the admission that ends now, in whole seconds."""
    return past_s + max(0, now_ms - admitted_at_ms) // 1000
