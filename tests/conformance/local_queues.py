"""Usage of a case's LocalQueues, updated between cycles."""

from collections.abc import Iterable
from fractions import Fraction

from muster.admission import quantities
from muster.admission.cycle.entry import Entry
from muster.admission.queueing.usage import entry_penalty, weighted
from tests.conformance.case import Case, Data


class LocalQueues:
    """`usage` is by namespace/name; a deleted LocalQueue has the default weight."""

    def __init__(self, case: Case) -> None:
        sharing = case.config["admissionFairSharing"]
        resources = sharing.get("resourceWeights") or {}
        self._resource_weights = {r: quantities.exact(r, str(w)) for r, w in resources.items()}
        self._samples_per_half_life = _seconds(sharing["usageHalfLifeTime"]) / _seconds(
            sharing["usageSamplingInterval"]
        )
        self._weights = {
            _key(of["metadata"]): _weight(of["spec"])
            for of in case.input["localQueues"]
            if of["metadata"]["name"] != case.config["deletedLocalQueue"]
        }
        consumed = {f"default/{name}": of for name, of in case.input["localQueueConsumedResources"].items()}
        self.usage = {
            key: weighted(
                {r: quantities.parse(r, amount) for r, amount in consumed.get(key, {}).items()},
                self._resource_weights,
                self._weights.get(key, Fraction(1)),
            )
            for key in map(_key, (of["metadata"] for of in case.input["localQueues"]))
        }

    def penalize(self, admitted: Iterable[Entry]) -> None:
        for head in admitted:
            key = head.workload.local_queue
            for pod_set in head.assignment.pod_sets:
                self.usage[key] += entry_penalty(
                    pod_set.requests,
                    self._resource_weights,
                    self._weights.get(key, Fraction(1)),
                    self._samples_per_half_life,
                )


def _key(metadata: Data) -> str:
    return f"{metadata['namespace']}/{metadata['name']}"


def _weight(spec: Data) -> Fraction:
    return quantities.exact("weight", str((spec.get("fairSharing") or {}).get("weight", 1)))


def _seconds(duration: str) -> Fraction:
    """Returns the seconds of a Go duration with one unit."""
    units = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600)}
    number = duration.rstrip("msh")
    return Fraction(number) * units[duration.removeprefix(number)]
