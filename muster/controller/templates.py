"""Sending a gang to its nodes: what admission adds to pod templates, and taking it away again.

As Kueue does (pkg/podset): node selectors and tolerations of the assigned flavors, then the updates
of admission checks; on stopping, what the Workload remembers of the user's template comes back.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from muster.controller.jobs.gang import WRITTEN_OUT, Place
from muster.objects.kueue import PodSet, ResourceFlavor, Workload
from muster.objects.meta import builtins
from muster.objects.pods import PodTemplate, Template, read_template

WORKLOAD_UID_LABEL = "muster.dev/workload-uid"

Operation = dict[str, Any]


class PlacementError(Exception):
    """The user's template asks for something else than the admission gives."""


def admitted_templates(
    workload: Workload, flavors: Mapping[str, ResourceFlavor], *, with_checks: bool = True
) -> dict[str, PodTemplate]:
    """By pod set: the template's metadata and spec fields as its pods are to have them.

    Raises: PlacementError naming the pod set, the key and both values, or what is missing.
    """
    assert workload.status.admission is not None
    assigned = {a.name: a.flavors for a in workload.status.admission.pod_set_assignments}
    if missing := {ps.name for ps in workload.spec.pod_sets} - assigned.keys():
        raise PlacementError(f"pod set {min(missing)!r} has no part in its admission")
    return {
        ps.name: _admitted(ps, workload, sorted(set(assigned[ps.name].values())), flavors, with_checks)
        for ps in workload.spec.pod_sets
    }


def _admitted(
    pod_set: PodSet,
    workload: Workload,
    flavor_names: Iterable[str],
    flavors: Mapping[str, ResourceFlavor],
    with_checks: bool,
) -> PodTemplate:
    template = read_template(pod_set.template)
    labels = {**template.metadata.labels, WORKLOAD_UID_LABEL: workload.metadata.uid}
    annotations = dict(template.metadata.annotations)
    selector = dict(template.spec.node_selector)
    tolerations = list(template.spec.tolerations)

    def merge(into: dict[str, str], more: Mapping[str, str], what: str) -> None:
        for key, value in more.items():
            if into.setdefault(key, value) != value:
                raise PlacementError(
                    f"pod set {pod_set.name!r} sets {what} {key}={into[key]}, but its admission needs {value}"
                )

    for name in flavor_names:
        if name not in flavors:
            raise PlacementError(f"ResourceFlavor {name!r} of its admission does not exist any more")
        merge(selector, flavors[name].spec.node_labels, "nodeSelector")
        tolerations += [t for t in flavors[name].spec.tolerations if t not in tolerations]
    updates = [u for c in workload.status.admission_checks for u in c.pod_set_updates] if with_checks else []
    for update in (u for u in updates if u.name == pod_set.name):
        merge(labels, update.labels, "label")
        merge(annotations, update.annotations, "annotation")
        merge(selector, update.node_selector, "nodeSelector")
        tolerations += [t for t in update.tolerations if t not in tolerations]
    return msgspec.structs.replace(
        template,
        metadata=msgspec.structs.replace(template.metadata, labels=labels, annotations=annotations),
        spec=msgspec.structs.replace(template.spec, node_selector=selector, tolerations=tuple(tolerations)),
    )


def merged_template(template: Template, target: PodTemplate) -> dict[str, Any]:
    """The whole template with the target's placement in it."""
    whole: dict[str, Any] = msgspec.json.decode(template)
    whole["metadata"] = {**whole.get("metadata", {}), **builtins(target.metadata)}
    whole["spec"] = {**whole.get("spec", {}), **_placement(target)}
    return whole


def is_placed(places: Iterable[Place]) -> bool:
    """Whether the templates carry what a start added to them."""
    return any(
        WORKLOAD_UID_LABEL in read_template(p.template).metadata.labels or p.written_out for p in places
    )


def place_operations(
    places: tuple[Place, ...], targets: Mapping[str, PodTemplate], *, start: bool
) -> Iterator[Operation]:
    """JSON patch operations that bring each template of a job to its target. On a start, a template
    that the job leaves to its operator is written out to carry the target; on a stop, it goes again."""
    for place in places:
        target, now = targets[place.pod_set], read_template(place.template)
        if not place.present:
            if start:
                yield _add(place.pointer, _written_out(merged_template(place.template, target)))
            elif place.written_out:
                yield {"op": "remove", "path": place.pointer}
            continue
        has_metadata = bool(msgspec.json.decode(place.template).get("metadata"))
        if not has_metadata and now.metadata != target.metadata:
            yield _add(f"{place.pointer}/metadata", {})
        yield from _field(place, "metadata/labels", now.metadata.labels, target.metadata.labels)
        yield from _field(
            place, "metadata/annotations", now.metadata.annotations, target.metadata.annotations
        )
        yield from _field(place, "spec/nodeSelector", now.spec.node_selector, target.spec.node_selector)
        yield from _field(place, "spec/tolerations", now.spec.tolerations, target.spec.tolerations)


def _written_out(template: dict[str, Any]) -> dict[str, Any]:
    template["metadata"].setdefault("annotations", {})[WRITTEN_OUT] = "true"
    return template


def _field(place: Place, path: str, now: Any, target: Any) -> Iterator[Operation]:
    if now != target:
        yield _add(f"{place.pointer}/{path}", target)


def _add(pointer: str, value: Any) -> Operation:
    return {"op": "add", "path": pointer, "value": value}


def _placement(target: PodTemplate) -> dict[str, Any]:
    return {"nodeSelector": target.spec.node_selector, "tolerations": list(target.spec.tolerations)}
