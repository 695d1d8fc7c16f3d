"""Merges similar pod sets in a ProvisioningRequest (spec.podSetMergePolicy of its config).

Source: Kueue pkg/controller/admissionchecks/provisioning (mergePodSets, canMergePodSets).
"""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.admission import QuantityError, quantities
from muster.objects.kueue import PodSet


@dataclass(frozen=True, slots=True)
class PodSetGroup:
    """Pod sets that share the template of the first."""

    pod_sets: tuple[PodSet, ...]
    # The total number of their pods.
    count: int

    @property
    def first(self) -> PodSet:
        """The pod set whose template represents the group."""
        return self.pod_sets[0]


def grouped(counts: Mapping[str, int], pod_sets: list[PodSet], policy: str | None) -> list[PodSetGroup]:
    """Returns groups in the order of their first pod sets. `counts` are the numbers of admitted pods by pod
    set."""
    key_of = KEYS.get(policy or "")
    groups: dict[Hashable, list[PodSet]] = {}
    for pod_set in pod_sets:
        groups.setdefault(key_of(pod_set) if key_of else pod_set.name, []).append(pod_set)
    return [PodSetGroup(tuple(sets), sum(counts[ps.name] for ps in sets)) for sets in groups.values()]


def _template_key(pod_set: PodSet) -> str:
    return _canonical_json(_with_exact_amounts(json.loads(bytes(pod_set.template))))


_PLACING = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")


def _scheduling_key(pod_set: PodSet) -> str:
    """Returns the fields that determine where pods may run and which resources they use."""
    spec = _with_exact_amounts(json.loads(bytes(pod_set.template))).get("spec") or {}
    requirements: dict[str, Any] = {key: spec.get(key) for key in _PLACING}
    for key in ("containers", "initContainers"):
        requirements[key] = [
            {"of": number, **((container.get("resources") or {}).get("requests") or {})}
            for number, container in enumerate(spec.get(key) or ())
        ]
    return _canonical_json(requirements)


KEYS: Mapping[str, Callable[[PodSet], Hashable]] = {
    "IdenticalPodTemplates": _template_key,
    "IdenticalWorkloadSchedulingRequirements": _scheduling_key,
}


def _with_exact_amounts(template: dict[str, Any]) -> dict[str, Any]:
    """Normalizes quantities, so that equal quantities such as `1` and `1000m` compare equal."""
    spec = template.get("spec") or {}
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for resources in (holder.get("resources") or {} for holder in holders):
        for field in ("requests", "limits"):
            if resources.get(field):
                resources[field] = {name: _exact(name, text) for name, text in resources[field].items()}
    return template


def _exact(resource: str, text: Any) -> Any:
    try:
        return quantities.parse(resource, text)
    except QuantityError:
        return text


def _canonical_json(value: Any) -> str:
    """Returns the same text for values that Kubernetes treats as equal: ignores empty fields and the order of
    keys."""
    return json.dumps(_without_empty(value), sort_keys=True)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {key: _without_empty(field) for key, field in value.items()}
        return {key: field for key, field in fields.items() if field not in (None, {}, [], "")}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
