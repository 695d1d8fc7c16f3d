"""Maximum execution time: the total run time of a workload over all its admissions.

Source: Kueue pkg/controller/core/workload_controller.go (reconcileMaxExecutionTime) and
pkg/workload/admissionchecks.go (SyncAdmittedCondition, which accumulates past time).
"""


def deadline_ms(limit_s: int, past_s: int, admitted_at_ms: int) -> int:
    """Returns when the limit is reached. `past_s`: the time that earlier admissions used."""
    return admitted_at_ms + (limit_s - past_s) * 1000


def used_execution_s(past_s: int, admitted_at_ms: int, now_ms: int) -> int:
    """Returns the used time in whole seconds, including the admission that ends now."""
    return past_s + max(0, now_ms - admitted_at_ms) // 1000
