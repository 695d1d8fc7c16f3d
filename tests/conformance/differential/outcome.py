"""The outcome of a step: which workloads hold quota for what, and which were preempted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster.objects import kueue
from muster.objects.workload_status import holds_quota

Held = Mapping[str, Mapping[str, str]]  # by workload and pod set: "count x flavors"


@dataclass(frozen=True)
class Outcome:
    held: Held
    preempted: Mapping[str, str]  # workload -> reason

    def differences(self, kueue_says: "Outcome") -> list[str]:
        """Returns where this outcome, the core's, differs from Kueue's."""
        lines = []
        for name in sorted({*self.held, *kueue_says.held}):
            ours, theirs = self.held.get(name), kueue_says.held.get(name)
            if ours != theirs:
                lines.append(f"{name}: Muster {sentence_of(ours)}, Kueue {sentence_of(theirs)}")
        for name in sorted({*self.preempted, *kueue_says.preempted}):
            our, their = self.preempted.get(name, "no"), kueue_says.preempted.get(name, "no")
            if our != their:
                lines.append(f"{name} preempted: Muster {our}, Kueue {their}")
        return lines


def held_by(workloads: Iterable[kueue.Workload]) -> Held:
    return {w.metadata.name: _assigned(w.status.admission) for w in workloads if holds_quota(w.status)}


def _assigned(admission: kueue.Admission | None) -> Mapping[str, str]:
    return {
        a.name: f"{a.count} x " + ", ".join(f"{r}:{f}" for r, f in sorted(a.flavors.items()))
        for a in (admission.pod_set_assignments if admission else ())
    }


def sentence_of(held: Mapping[str, str] | None) -> str:
    return "waits" if held is None else "; ".join(f"{name} {what}" for name, what in held.items())
