"""Adds placement to pod templates when a gang starts, and removes it when the gang stops.

Like Kueue (pkg/podset), adds the node selectors and tolerations of the assigned flavors, then the updates of
admission checks. When the gang stops, the user's template is restored from the Workload.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from muster.admission import TopologyAssignment
from muster.cluster.jobs import domains
from muster.cluster.jobs.gang import PodSetTemplate
from muster.cluster.jobs.scaling import stored_sizes
from muster.objects.kueue import PodSet, PodSetAssignment, PodSetUpdate, Workload, WorkloadStatus
from muster.objects.kueue_queues import ResourceFlavor
from muster.objects.meta import builtins
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_GATE, WORKLOAD_UID_LABEL, WRITTEN_OUT
from muster.objects.pods import PodTemplate, Template, read_template
from muster.translation import assignments

Operation = dict[str, Any]


class PlacementError(Exception):
    """The user's template contradicts the admission."""


def assignment_of(workload: Workload, pod_set: PodSet) -> PodSetAssignment:
    """Returns the pod set's assignment. Raises: PlacementError if there is none, as after a change of pod
    sets."""
    assert workload.status.admission is not None
    for assignment in workload.status.admission.pod_set_assignments:
        if assignment.name == pod_set.name:
            return assignment
    raise PlacementError(f"inconsistent podSet assignments: pod set {pod_set.name!r} is not in the admission")


def admitted_templates(workload: Workload, flavors: Mapping[str, ResourceFlavor]) -> dict[str, PodTemplate]:
    """Returns the templates by pod set, with the placement of the admission.

    Raises: PlacementError that names the pod set, the key and both values, or what is missing.
    """
    return {ps.name: _admitted(ps, workload, flavors) for ps in workload.spec.pod_sets}


def _admitted(pod_set: PodSet, workload: Workload, flavors: Mapping[str, ResourceFlavor]) -> PodTemplate:
    target = _flavored(workload, pod_set, flavors)
    target.labels[WORKLOAD_UID_LABEL] = workload.metadata.uid
    of_request = target
    if pod_set.name in stored_sizes(workload):
        target.gates.append({"name": GROWTH_GATE})
        # Pods of an elastic group use nodes of several requests and domains, so each is placed when its gate
        # is opened: the update must fit the template, but is no part of it.
        of_request = _flavored(workload, pod_set, flavors)
    for update in updates_of(workload.status, pod_set.name):
        updated = of_request if CONSUME_ANNOTATION in update.annotations else target
        updated.merge(updated.labels, update.labels, "label")
        updated.merge(updated.annotations, update.annotations, "annotation")
        updated.merge(updated.selector, update.node_selector, "nodeSelector")
        updated.tolerate(update.tolerations)
    assigned = assignment_of(workload, pod_set).topology_assignment
    if assigned is not None and pod_set.name not in stored_sizes(workload):
        target.confine(assignments.expanded(assigned))
    return target.template()


def updates_of(status: WorkloadStatus, pod_set: str) -> Iterator[PodSetUpdate]:
    """Yields the updates of a pod set by the admission checks."""
    for check in status.admission_checks:
        yield from (update for update in check.pod_set_updates if update.name == pod_set)


def flavored_template(
    workload: Workload, pod_set: PodSet, flavors: Mapping[str, ResourceFlavor]
) -> PodTemplate:
    """Returns the template with the node selectors and tolerations of its flavors only. Raises:
    PlacementError."""
    return _flavored(workload, pod_set, flavors).template()


def _flavored(workload: Workload, pod_set: PodSet, flavors: Mapping[str, ResourceFlavor]) -> "_Target":
    target = _Target(pod_set)
    for name in sorted(set(assignment_of(workload, pod_set).flavors.values())):
        if name not in flavors:
            raise PlacementError(f"ResourceFlavor {name!r} of the admission no longer exists")
        target.merge(target.selector, flavors[name].spec.node_labels, "nodeSelector")
        target.tolerate(flavors[name].spec.tolerations)
    return target


class _Target:
    """A builder that adds placement to the template of a pod set."""

    def __init__(self, pod_set: PodSet) -> None:
        self._pod_set = pod_set.name
        self._before = read_template(pod_set.template)
        self.labels = dict(self._before.metadata.labels)
        self.annotations = dict(self._before.metadata.annotations)
        self.selector = dict(self._before.spec.node_selector)
        self.affinity: Mapping[str, Any] = self._before.spec.affinity
        self.tolerations = list(self._before.spec.tolerations)
        self.gates = list(self._before.spec.scheduling_gates)

    def merge(self, into: dict[str, str], added: Mapping[str, str], field: str) -> None:
        for key, value in added.items():
            if into.setdefault(key, value) != value:
                setting = f"{field} {key}={into[key]}"
                raise PlacementError(
                    f"pod set {self._pod_set!r} sets {setting}, but its admission needs {value}"
                )

    def confine(self, assigned: TopologyAssignment) -> None:
        self.annotations |= domains.placement_annotations(self.annotations)
        self.merge(self.selector, domains.shared_labels(assigned), "nodeSelector")
        self.affinity = domains.confined(self.affinity, assigned)

    def tolerate(self, added: Iterable[dict[str, Any]]) -> None:
        self.tolerations += [t for t in added if t not in self.tolerations]

    def template(self) -> PodTemplate:
        replace = msgspec.structs.replace
        metadata = replace(self._before.metadata, labels=self.labels, annotations=self.annotations)
        spec = replace(
            self._before.spec,
            node_selector=self.selector,
            affinity=self.affinity,
            tolerations=tuple(self.tolerations),
            scheduling_gates=tuple(self.gates),
        )
        return replace(self._before, metadata=metadata, spec=spec)


def with_labels(template: PodTemplate, labels: Mapping[str, str]) -> PodTemplate:
    """Returns the template with these labels in addition. Raises: PlacementError if it has another value."""
    now = template.metadata.labels
    for key, value in labels.items():
        if now.get(key, value) != value:
            raise PlacementError(
                f"a pod template sets label {key}={now[key]}, but its admission needs {value}"
            )
    if not labels:
        return template
    metadata = msgspec.structs.replace(template.metadata, labels={**now, **labels})
    return msgspec.structs.replace(template, metadata=metadata)


def merged_template(template: Template, target: PodTemplate) -> dict[str, Any]:
    """Returns the complete template with the target's metadata and placement."""
    whole: dict[str, Any] = msgspec.json.decode(template)
    whole["metadata"] = {**whole.get("metadata", {}), **builtins(target.metadata)}
    whole["spec"] = {**whole.get("spec", {}), **_placement(target)}
    return whole


def is_placed(templates: Iterable[PodSetTemplate]) -> bool:
    """Returns whether the templates contain the placement that a start added."""
    return any(
        WORKLOAD_UID_LABEL in read_template(p.template).metadata.labels or p.written_out for p in templates
    )


def place_operations(
    templates: tuple[PodSetTemplate, ...], targets: Mapping[str, PodTemplate], *, start: bool
) -> Iterator[Operation]:
    """Yields JSON patch operations that change each template of a job to its target. A template that the job
    leaves to the operator's default is added on a start, to carry the placement, and removed on a stop."""
    for entry in templates:
        target, now = targets[entry.pod_set], read_template(entry.template)
        if not entry.present:
            if start:
                yield _add(entry.pointer, _written_out(merged_template(entry.template, target)))
            elif entry.written_out:
                yield {"op": "remove", "path": entry.pointer}
            continue
        has_metadata = bool(msgspec.json.decode(entry.template).get("metadata"))
        if not has_metadata and now.metadata != target.metadata:
            yield _add(f"{entry.pointer}/metadata", {})
        yield from _field(entry, "metadata/labels", now.metadata.labels, target.metadata.labels)
        yield from _field(
            entry, "metadata/annotations", now.metadata.annotations, target.metadata.annotations
        )
        yield from _field(entry, "spec/nodeSelector", now.spec.node_selector, target.spec.node_selector)
        yield from _field(entry, "spec/affinity", now.spec.affinity, target.spec.affinity)
        yield from _field(entry, "spec/tolerations", now.spec.tolerations, target.spec.tolerations)
        yield from _field(
            entry, "spec/schedulingGates", now.spec.scheduling_gates, target.spec.scheduling_gates
        )


def _written_out(template: dict[str, Any]) -> dict[str, Any]:
    template["metadata"].setdefault("annotations", {})[WRITTEN_OUT] = "true"
    return template


def _field(entry: PodSetTemplate, path: str, now: Any, target: Any) -> Iterator[Operation]:
    if now != target:
        yield _add(f"{entry.pointer}/{path}", target)


def _add(pointer: str, value: Any) -> Operation:
    return {"op": "add", "path": pointer, "value": value}


def _placement(target: PodTemplate) -> dict[str, Any]:
    affinity = {"affinity": target.spec.affinity} if target.spec.affinity else {}
    return {
        "nodeSelector": target.spec.node_selector,
        "tolerations": list(target.spec.tolerations),
        **affinity,
    }
