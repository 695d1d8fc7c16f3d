"""The gang of a Ray cluster: its pod sets, and the location of their templates in the spec.

Pod sets are named as in Kueue (pkg/controller/jobs/raycluster): `head`, then the worker groups; a RayJob adds
its submitter.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from muster.cluster.jobs import added_containers
from muster.cluster.jobs.added_containers import Body, with_containers
from muster.cluster.jobs.in_place_resize import HEAD_GROUP, NO_MAXIMA, Maxima, at_maximum, readable_maxima
from muster.objects.kueue import POD_SETS_MAX, PODS_MAX, PodSet, TopologyRequest
from muster.objects.pods import Template, read_template
from muster.objects.ray import RayClusterSpec
from muster.objects.topology import annotated_request

HEAD = "head"
POD_SET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # of Kueue's Workload


class JobAnnotations(NamedTuple):
    """Annotations of a job that change its pods. `redis_cleanup`: KubeRay cleans up Redis after the
    cluster is deleted; `resizes`: those of its pods in place, as JSON."""

    redis_cleanup: bool = False
    resizes: str = ""


@dataclass(frozen=True, slots=True)
class PodSetTemplate:
    """A pod template of a gang and the JSON pointer to it in the job.

    `present`: the user has set it, so it is neither the operator's default nor `written_out` by Muster.
    KubeRay adds `containers` and `init_containers` to the pods. `successors` are init containers that
    represent pods that run after these, so that quota covers both. `maxima` are those of its resizes in
    place."""

    pod_set: str
    count: int
    template: Template
    pointer: str
    present: bool = True
    written_out: bool = False
    containers: tuple[Body, ...] = ()
    init_containers: tuple[Body, ...] = ()
    successors: tuple[Body, ...] = ()
    maxima: Maxima = field(default_factory=dict)

    @property
    def created(self) -> Template:
        """The template of the pods that KubeRay creates."""
        return with_containers(self.template, self.containers, self.init_containers)

    @property
    def counted(self) -> Template:
        """The template for which quota is reserved: the user's own if a container that KubeRay adds has a
        name in use, as a Workload can't have two containers with the same name."""
        template = at_maximum(self.template, self.maxima) if self.maxima else self.template
        if self.taken_names:
            return template
        return with_containers(template, self.containers, (*self.init_containers, *self.successors))

    @property
    def taken_names(self) -> list[str]:
        """The names of added containers that the user's template already uses."""
        added = (*self.containers, *self.init_containers, *self.successors)
        return added_containers.taken_names(self.template, added) if added else []


def cluster_templates(
    spec: RayClusterSpec,
    pointer: str,
    annotations: JobAnnotations,
    *,
    with_submitter: bool = False,
) -> Iterator[PodSetTemplate]:
    """Yields the templates of the head and the worker groups. `with_submitter`: KubeRay adds the submitter
    container to the head."""
    maxima = readable_maxima(spec, annotations.resizes)
    head = spec.head_group_spec.template
    containers = (added_containers.submitter(head),) if with_submitter else ()
    if spec.enable_in_tree_autoscaling:
        containers = (*containers, added_containers.autoscaler(head, spec.autoscaler_options))
    yield PodSetTemplate(
        HEAD,
        1,
        head,
        f"{pointer}/headGroupSpec/template",
        containers=containers,
        successors=(added_containers.redis_cleanup(head),) if annotations.redis_cleanup else (),
        maxima=maxima.get(HEAD_GROUP, NO_MAXIMA),
    )
    for index, group in enumerate(spec.worker_group_specs):
        yield PodSetTemplate(
            group.group_name,
            group.minimum if spec.enable_in_tree_autoscaling else group.pods,
            group.template,
            f"{pointer}/workerGroupSpecs/{index}/template",
            init_containers=(added_containers.wait_for_head(group.template),),
            maxima=maxima.get(group.group_name, NO_MAXIMA),
        )


def pod_sets(templates: tuple[PodSetTemplate, ...]) -> tuple[PodSet, ...]:
    """Returns the pod sets that the schema of Workload accepts. A gang with other pod sets is not eligible
    (`ineligibility`), but needs a valid Workload to report that."""
    writable: dict[str, PodSetTemplate] = {}
    for entry in templates:
        if POD_SET_NAME.fullmatch(entry.pod_set):
            writable.setdefault(entry.pod_set, entry)
    return tuple(
        PodSet(name=name, count=min(p.count, PODS_MAX), template=p.counted, topology_request=_topology(p))
        for name, p in list(writable.items())[:POD_SETS_MAX]
    )


def _topology(entry: PodSetTemplate) -> TopologyRequest | None:
    """Returns the topology request of the template; None if there is none or it is invalid, which
    `ineligibility` reports."""
    with suppress(ValueError):
        return annotated_request(read_template(entry.template).metadata.annotations)
    return None


def ineligibility(spec: RayClusterSpec, pointer: str, templates: tuple[PodSetTemplate, ...]) -> str | None:
    """Returns why this gang can't be admitted as a whole, and how to fix it; None if it can. `pointer` is the
    JSON pointer to the RayCluster's spec in the job."""
    requests = [_topology(t) for t in templates if t.present] if spec.enable_in_tree_autoscaling else []
    if any(
        r is not None and (r.podset_slice_required_topology_constraints or r.pod_set_group_name)
        for r in requests
    ):
        path = f"{pointer}/enableInTreeAutoscaling".strip("/").replace("/", ".")
        return (
            f"{path} is on, but a gang whose pods request slices or groups of pod sets in a topology is "
            "admitted with a fixed size: turn it off, or remove these annotations from the pod templates"
        )
    return templates_problem(templates)


def templates_problem(
    templates: tuple[PodSetTemplate, ...],
    *,
    group: str = "worker group",
    name: str = "groupName",
    pods: str = "replicas * numOfHosts",
) -> str | None:
    """Returns why these templates can't be admitted together, and how to fix it; None if they can. Messages
    call the pod sets `group`, whose field for its name is `name` and for its number of pods `pods`."""
    problem = _size_problem(templates, group, name, pods)
    if problem is not None:
        return problem
    for entry in templates:
        try:
            annotated_request(read_template(entry.template).metadata.annotations)
        except ValueError as error:
            return f"pod set {entry.pod_set!r}: {error}"
        if not read_template(entry.template).spec.containers:
            return f"pod set {entry.pod_set!r} has no containers"
        if entry.taken_names:
            name = entry.taken_names[0]
            return (
                f"pod set {entry.pod_set!r} has a container named {name!r}, which KubeRay also adds: "
                "rename the container"
            )
    return None


def _size_problem(templates: tuple[PodSetTemplate, ...], group: str, field: str, pods: str) -> str | None:
    """Returns why the schema of Workload rejects these pod sets; None if it accepts them."""
    names = [p.pod_set for p in templates]
    if len(names) > POD_SETS_MAX:
        return f"it has {len(names)} pod sets; expected at most {POD_SETS_MAX}: merge {group}s"
    for name in names:
        if not POD_SET_NAME.fullmatch(name):
            return (
                f"{field} {name!r} is not the name of a pod set; expected at most 63 lowercase letters, "
                f"digits and '-', beginning and ending with a letter or digit: rename the {group}"
            )
        if names.count(name) > 1:
            return f"two pod sets are named {name!r}: give each {group} a unique name other than 'head'"
    total = sum(p.count for p in templates)
    if total > PODS_MAX:
        largest = max(templates, key=lambda p: p.count)
        return (
            f"the gang has {total} pods, {largest.count} of them in pod set {largest.pod_set!r} ({pods}); "
            f"expected at most {PODS_MAX}: lower {pods.replace(' * ', ' or ')}"
        )
    return None
