"""The gang of a Ray cluster: its pod sets, and where their templates are in its spec.

Pod sets are named as in Kueue (pkg/controller/jobs/raycluster): `head`, then one per worker group; a RayJob
adds its submitter.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from muster.controller.jobs import added_containers
from muster.controller.jobs.added_containers import Body, with_containers
from muster.objects import topology_request
from muster.objects.kueue import POD_SETS_MAX, PODS_MAX, PodSet, TopologyRequest
from muster.objects.pods import Template, read_template
from muster.objects.ray import RayClusterSpec

HEAD = "head"
WRITTEN_OUT = "muster.dev/written-out"  # annotation of templates that Muster wrote out
POD_SET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # of Kueue's Workload


@dataclass(frozen=True, slots=True)
class PodSetTemplate:
    """One pod template of a gang and the JSON pointer to it in the job; `present` if it is in the job itself,
    not the operator's default or written out by Muster. KubeRay adds `containers` and `init_containers` to
    its pods; `successors` are init containers that count for the pods that replace them."""

    pod_set: str
    count: int
    template: Template
    pointer: str
    present: bool = True
    written_out: bool = False
    containers: tuple[Body, ...] = ()
    init_containers: tuple[Body, ...] = ()
    successors: tuple[Body, ...] = ()

    @property
    def created(self) -> Template:
        """The template of the pods that KubeRay creates."""
        return with_containers(self.template, self.containers, self.init_containers)

    @property
    def counted(self) -> Template:
        """The template by which quota is reserved: that of its user, if KubeRay can't add to it, as a
        Workload can't have two containers of one name."""
        if self.taken_names:
            return self.template
        return with_containers(self.template, self.containers, (*self.init_containers, *self.successors))

    @property
    def taken_names(self) -> list[str]:
        """The names of added containers that its user has given to others."""
        added = (*self.containers, *self.init_containers, *self.successors)
        return added_containers.taken_names(self.template, added) if added else []


def cluster_templates(
    spec: RayClusterSpec, pointer: str, *, redis_cleanup: bool = False, with_submitter: bool = False
) -> Iterator[PodSetTemplate]:
    """Yields the templates of head and workers. `redis_cleanup`: KubeRay cleans Redis up after the cluster's
    deletion; `with_submitter`: the head has the container that submits its RayJob."""
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
        successors=(added_containers.redis_cleanup(head),) if redis_cleanup else (),
    )
    for index, group in enumerate(spec.worker_group_specs):
        yield PodSetTemplate(
            group.group_name,
            group.pods,
            group.template,
            f"{pointer}/workerGroupSpecs/{index}/template",
            init_containers=(added_containers.wait_for_head(group.template),),
        )


def pod_sets(templates: tuple[PodSetTemplate, ...]) -> tuple[PodSet, ...]:
    """Returns those that a Workload can have: its schema accepts no others, and a gang with others is not
    eligible (`ineligibility`). The Workload says so, which needs one that can be written."""
    writable: dict[str, PodSetTemplate] = {}
    for entry in templates:
        if POD_SET_NAME.fullmatch(entry.pod_set):
            writable.setdefault(entry.pod_set, entry)
    return tuple(
        PodSet(name=name, count=min(p.count, PODS_MAX), template=p.counted, topology_request=_topology(p))
        for name, p in list(writable.items())[:POD_SETS_MAX]
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
    problem = _size_problem(templates)
    if problem is not None:
        return problem
    for entry in templates:
        try:
            topology_request.annotated(read_template(entry.template).metadata.annotations)
        except ValueError as error:
            return f"pod set {entry.pod_set!r}: {error}"
        if not read_template(entry.template).spec.containers:
            return f"pod set {entry.pod_set!r} has no containers"
        if entry.taken_names:
            name = entry.taken_names[0]
            return (
                f"pod set {entry.pod_set!r} has a container named {name!r}, and KubeRay adds one of this "
                "name: give yours another name"
            )
    return None


def _size_problem(templates: tuple[PodSetTemplate, ...]) -> str | None:
    """Returns why the schema of Workload does not accept these pod sets."""
    names = [p.pod_set for p in templates]
    if len(names) > POD_SETS_MAX:
        return f"it has {len(names)} pod sets; expected at most {POD_SETS_MAX}: merge worker groups"
    for name in names:
        if not POD_SET_NAME.fullmatch(name):
            return (
                f"groupName {name!r} is not the name of a pod set; expected at most 63 lowercase letters, "
                "digits and '-', beginning and ending with a letter or digit: rename the worker group"
            )
        if names.count(name) > 1:
            return f"two pod sets are named {name!r}: give each worker group a name of its own, not 'head'"
    total = sum(p.count for p in templates)
    if total > PODS_MAX:
        largest = max(templates, key=lambda p: p.count)
        return (
            f"the gang has {total} pods, {largest.count} of them in pod set {largest.pod_set!r} (replicas * "
            f"numOfHosts); expected at most {PODS_MAX}: lower replicas or numOfHosts"
        )
    return None
