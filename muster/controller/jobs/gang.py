"""The gang of a Ray cluster: its pod sets, and where their templates are in its spec.

Pod sets are named as in Kueue (pkg/controller/jobs/raycluster): `head`, then one per worker group; a RayJob
adds its submitter.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from muster.objects import topology_request
from muster.objects.kueue import PodSet, TopologyRequest
from muster.objects.pods import Template, read_template
from muster.objects.ray import RayClusterSpec

HEAD = "head"
WRITTEN_OUT = "muster.dev/written-out"  # annotation of templates that Muster wrote out


@dataclass(frozen=True, slots=True)
class PodSetTemplate:
    """One pod template of a gang and the JSON pointer to it in the job; `present` if it is in the job itself,
    not the operator's default or written out by Muster."""

    pod_set: str
    count: int
    template: Template
    pointer: str
    present: bool = True
    written_out: bool = False


def cluster_templates(spec: RayClusterSpec, pointer: str) -> Iterator[PodSetTemplate]:
    yield PodSetTemplate(HEAD, 1, spec.head_group_spec.template, f"{pointer}/headGroupSpec/template")
    for index, group in enumerate(spec.worker_group_specs):
        where = f"{pointer}/workerGroupSpecs/{index}/template"
        yield PodSetTemplate(group.group_name, group.pods, group.template, where)


def pod_sets(templates: tuple[PodSetTemplate, ...]) -> tuple[PodSet, ...]:
    return tuple(
        PodSet(name=p.pod_set, count=p.count, template=p.template, topology_request=_topology(p))
        for p in templates
    )


def _topology(entry: PodSetTemplate) -> TopologyRequest | None:
    """Returns its topology request; None also if that can't be parsed, which `ineligibility` reports."""
    with suppress(ValueError):
        return topology_request.annotated(read_template(entry.template).metadata.annotations)
    return None


def ineligibility(spec: RayClusterSpec, pointer: str, templates: tuple[PodSetTemplate, ...]) -> str | None:
    """Returns why this gang can't be admitted as a whole, and what to do; None if it can. `pointer` leads to
    the cluster's spec in the job."""
    if spec.enable_in_tree_autoscaling:
        field = f"{pointer}/enableInTreeAutoscaling".strip("/").replace("/", ".")
        return (
            f"{field} is on, but a gang is admitted with a fixed size: turn it off, or "
            "remove the queue label to run it outside the queues"
        )
    names = [p.pod_set for p in templates]
    for name in names:
        if names.count(name) > 1:
            return f"two pod sets are named {name!r}: give each worker group a name of its own, not 'head'"
    for entry in templates:
        try:
            topology_request.annotated(read_template(entry.template).metadata.annotations)
        except ValueError as error:
            return f"pod set {entry.pod_set!r}: {error}"
        if not read_template(entry.template).spec.containers:
            return f"pod set {entry.pod_set!r} has no containers"
    return None
