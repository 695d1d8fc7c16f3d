"""`decide`: from everything at one moment to what should happen now."""

from muster.admission.engine.engine import Engine
from muster.admission.model import Plan, Rules, Snapshot


def decide(snapshot: Snapshot, now_ms: int, rules: Rules = Rules()) -> Plan:  # noqa: B008 - a frozen value
    """Runs scheduling cycles on the snapshot until nothing changes.

    Equal snapshots give equal plans, in whatever order their parts come. Victims keep their quota
    until a later snapshot shows it withdrawn. Raises SnapshotError for input that contradicts
    itself; a queue that names missing things is inactive, and the rest goes on.
    """
    return Engine(snapshot, rules).decide(now_ms)  # which has told nobody yet why he waits
