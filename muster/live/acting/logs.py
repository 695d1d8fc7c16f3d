"""Selects the pods whose logs to print."""

from muster.cluster.jobs.gang import HEAD
from muster.cluster.jobs.rayjob import SUBMITTER
from muster.live.observed import ObservationError

ALL = "all"


def chosen(pods: dict[str, str], pod_set: str | None) -> list[str]:
    """Returns the pods of a pod set; by default the pods with the driver's output: the submitter, else the
    head, else the first pod set. Raises: ObservationError."""
    if not pods:
        raise ObservationError("the job has no pods: it waits for quota or has ended")
    sets = sorted(set(pods.values()))
    selected = pod_set or next((s for s in (SUBMITTER, HEAD) if s in sets), sets[0])
    names = [name for name, of in pods.items() if selected in (of, ALL)]
    if not names:
        raise ObservationError(
            f"the job has no pods in pod set {selected}; expected one of: {', '.join(sets)}, {ALL}"
        )
    return names
