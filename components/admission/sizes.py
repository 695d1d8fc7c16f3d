"""Bounds of what a Ray object makes KubeRay's operator do, queued or not, running or suspended.

All teams share one operator, which reconciles one object of a kind at a time. For a status it builds a list
as long as `replicas`, even of a suspended cluster (CalculateDesiredResources and CalculateMinResources in
ray-operator/controllers/ray/utils/util.go at v1.6.2); it lists pods for each worker group, sends a deletion
for each of `workersToDelete` in each reconciliation, and copies ports to Services, of which kube-proxy makes
rules on all nodes. `maxReplicas` costs nothing; it is bounded as an autoscaler may reach it. Queued objects
have no `workersToDelete` at all (components/admission/gangs/requirements.py).
"""

from components.admission.ray import (
    RAY_KINDS,
    Engine,
    Policy,
    optional,
    spec_is_written_by_users,
)
from components.admission.services import services
from components.admission.templates import group_variables, head
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.cluster.jobs.scaling import REPLICAS_MAX

WORKER_GROUPS_MAX = 100
WORKERS_TO_DELETE_MAX = 1000
PORTS_MAX = 100  # of a Service, and of the head's container, from which KubeRay derives some
DELETION_RULES_MAX = 100


def bounded_sizes(engine: Engine, max_pods: int) -> list[Policy]:
    """Returns a policy for each kind, in all namespaces."""
    return [
        Policy(
            name=f"muster-{kind.plural}-are-bounded",
            resources=(kind.plural,),
            operations=("CREATE", "UPDATE"),
            rules=_pods(kind, max_pods) | _lists(kind),
            condition=spec_is_written_by_users(engine),
            variables=group_variables(kind),
        )
        for kind in RAY_KINDS
    ]


def _pods(kind: JobKind, most: int) -> dict[str, str]:
    """Each factor is cut at `most` + 1 before it is multiplied, so that no sum overflows."""
    hosts, replicas = _cut("numOfHosts", 1, most), _cut("replicas", 0, most)
    low, high = _cut("minReplicas", 0, most), _cut("maxReplicas", REPLICAS_MAX, most)
    pods = f"variables.groups.map(g, {hosts} * ({replicas} > {low} ? {replicas} : {low})).sum()"
    bounded = f"variables.groups.filter(g, g.?maxReplicas.orValue({REPLICAS_MAX}) != {REPLICAS_MAX})"
    not_negative = " && ".join(
        f"g.?{key}.orValue(1) >= 0" for key in ("numOfHosts", "replicas", "minReplicas", "maxReplicas")
    )
    stack = "(muster:admission.maxPods of this stack)"
    return {
        f"variables.groups.all(g, {not_negative})": (
            f"the worker groups of a {kind.name} can't have negative numbers: correct numOfHosts, replicas, "
            "minReplicas and maxReplicas"
        ),
        f"{pods} <= {most} && variables.groups.all(g, {hosts} <= {most})": (
            f"a {kind.name} has at most {most} workers {stack}: lower replicas, minReplicas or numOfHosts, "
            "whose product is summed over the worker groups"
        ),
        f"{bounded}.map(g, {hosts} * {high}).sum() <= {most}": (
            f"a {kind.name} grows to at most {most} workers {stack}: lower maxReplicas or numOfHosts, whose "
            "product is summed over the worker groups, or remove maxReplicas"
        ),
    }


def _cut(key: str, default: int, most: int) -> str:
    """CEL for a number of the group `g`, or `most` + 1 if it is larger."""
    value = f"g.?{key}.orValue({default})"
    return f"({value} > {most} ? {most + 1} : int({value}))"


def _lists(kind: JobKind) -> dict[str, str]:
    deleted = "variables.groups.map(g, size(g.?scaleStrategy.?workersToDelete.orValue([]))).sum()"
    containers = f"[?{optional('object', f'{head(kind)}.template.spec.containers')}]"
    ports = [f"{containers}.all(cs, cs.all(c, size(c.?ports.orValue([])) <= {PORTS_MAX}))"]
    ports += [
        f"size({optional('object', f'{service}.spec.ports')}.orValue([])) <= {PORTS_MAX}"
        for service in services(kind)
    ]
    rules = {
        f"size(variables.groups) <= {WORKER_GROUPS_MAX}": (
            f"a {kind.name} has at most {WORKER_GROUPS_MAX} worker groups: put identical pods into one group"
        ),
        f"{deleted} <= {WORKERS_TO_DELETE_MAX}": (
            f"workersToDelete of a {kind.name} has at most {WORKERS_TO_DELETE_MAX} names, as KubeRay sends a "
            "deletion for each: lower replicas in several steps"
        ),
        " && ".join(ports): (
            f"the head and the Services of a {kind.name} have at most {PORTS_MAX} ports each: remove some"
        ),
    }
    if kind is RAY_JOB:
        of_job = optional("object", "spec.deletionStrategy.deletionRules")
        rules[f"size({of_job}.orValue([])) <= {DELETION_RULES_MAX}"] = (
            f"a RayJob has at most {DELETION_RULES_MAX} deletionRules: remove some"
        )
    return rules
