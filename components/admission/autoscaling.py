"""Ray's autoscaler changes only its own RayCluster and pods.

For a RayCluster with enableInTreeAutoscaling, even a suspended one, KubeRay creates a Role that may patch all
pods, pods/resize and RayClusters of the namespace, and binds it to the service account of the head
(ray-operator/controllers/ray/common/rbac.go at v1.6.2). So that account must be the cluster's own, and
policies limit what it may change to what KubeRay's autoscaling provider in Ray writes.
"""

import json
from collections.abc import Sequence

from components.admission.metadata import same_except, same_of_prefixes, same_owners_and_finalizers
from components.admission.ray import (
    RAY_KINDS,
    Engine,
    Policy,
    spec_is_written_by_users,
    value_at,
)
from components.admission.templates import head
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.raycluster import RAY_CLUSTER
from settings.model.tenants.tenant import TENANT

SHARED_ACCOUNT = "default"  # of every pod that names no other
# KubeRay cuts the names of accounts from the front (CheckName), and appends six characters to a job's or
# service's name for its RayCluster.
ACCOUNT_NAME_MAX = 50
SUFFIX_LENGTH = 6
CLUSTER_LABEL = "ray.io/cluster"
KUBERAY = "ray.io/"
SCALED = ("replicas", "scaleStrategy")


def autoscales(kind: JobKind, root: str = "object") -> str:
    """Returns the CEL expression of whether Ray's autoscaler is enabled in the object."""
    return value_at(root, f"{kind.ray_cluster}.enableInTreeAutoscaling", "false")


def own_accounts(engine: Engine, shared: Sequence[str]) -> list[Policy]:
    """Returns policies by which autoscaled clusters of tenants run as an account that no other pod has.
    `shared`: accounts of the stack that others have."""
    return [
        Policy(
            name=f"muster-{kind.plural}-scale-themselves",
            resources=(kind.plural,),
            operations=("CREATE", "UPDATE"),
            rules=_account_rules(kind, sorted({SHARED_ACCOUNT, *shared})),
            namespaces=TENANT,
            condition=f"{spec_is_written_by_users(engine)} && {autoscales(kind)}",
        )
        for kind in RAY_KINDS
    ]


def _account_rules(kind: JobKind, shared: Sequence[str]) -> dict[str, str]:
    path = f"{head(kind)}.template.spec.serviceAccountName"
    account, is_cluster = value_at("object", path, '""'), kind is RAY_CLUSTER
    own = f"{account} == object.metadata.name" if is_cluster else "false"
    longest = ACCOUNT_NAME_MAX - (0 if is_cluster else SUFFIX_LENGTH)
    rules = {
        f'{account} == "" || {own}': (
            "KubeRay lets the service account of an autoscaled head change pods and RayClusters: remove "
            f"{path}, so that KubeRay creates one for this {kind.name} alone"
        ),
        f"size(object.metadata.name) <= {longest}": (
            f"the name of an autoscaled {kind.name} has at most {longest} characters, as KubeRay derives the "
            "name of a service account from it: choose a shorter one"
        ),
    }
    if is_cluster:
        rules[f"!(object.metadata.name in {json.dumps(shared)})"] = (
            f"an autoscaled RayCluster can't be named {' or '.join(shared)}: KubeRay would let the service "
            "account of this name, which other pods have, change pods and RayClusters"
        )
    return rules


def changes_of_workloads() -> list[Policy]:
    """Returns policies for updates by service accounts of tenants' namespaces, such as the accounts of Ray's
    heads.

    An account that may `update` the resource was granted that by an administrator: KubeRay's Role has `patch`
    only.
    """
    return [
        Policy(
            name="muster-workloads-scale-their-raycluster",
            resources=(RAY_CLUSTER.plural,),
            operations=("UPDATE",),
            rules=_cluster_rules(),
            namespaces=TENANT,
            condition=_asked_by_a_workload("ray.io", RAY_CLUSTER.plural),
            variables={"account": ACCOUNT},
        ),
        Policy(
            name="muster-workloads-change-their-pods",
            group="",
            resources=("pods", "pods/status", "pods/resize", "pods/ephemeralcontainers"),
            operations=("UPDATE",),
            rules=_pod_rules(),
            namespaces=TENANT,
            condition=_asked_by_a_workload("", "pods"),
            variables={"account": ACCOUNT},
        ),
    ]


_OF_NAMESPACE = '("system:serviceaccount:" + request.namespace + ":")'
ACCOUNT = f"request.userInfo.username.substring(size({_OF_NAMESPACE}))"


def _asked_by_a_workload(group: str, resource: str) -> str:
    granted = f'authorizer.group("{group}").resource("{resource}").namespace(request.namespace)'
    return f'request.userInfo.username.startsWith({_OF_NAMESPACE}) && !{granted}.check("update").allowed()'


def _cluster_rules() -> dict[str, str]:
    scaled, groups = json.dumps(SCALED), "spec.?workerGroupSpecs.orValue([])"
    keyed = (same_of_prefixes(what, [""]) for what in ("labels", "annotations"))
    metadata = " && ".join([same_owners_and_finalizers(), *keyed])
    others = same_except("object.spec", "oldObject.spec", 'k == "workerGroupSpecs"')
    same_group = same_except("n", "o", f"k in {scaled}")
    return {
        "object.metadata.name == variables.account": (
            "a service account of Ray's autoscaler changes its own RayCluster only, which has its name: "
            "change this one as a member of the team"
        ),
        f"{metadata} && {others} && size(object.{groups}) == size(oldObject.{groups}) && "
        f"object.{groups}.all(n, oldObject.{groups}.exists(o, {same_group}))": (
            f"Ray's autoscaler changes only {' and '.join(SCALED)} of worker groups: change other fields as "
            "a member of the team"
        ),
    }


def _pod_rules() -> dict[str, str]:
    own = " && ".join(
        f'{root}.metadata.?labels[?"{CLUSTER_LABEL}"].orValue("") == variables.account'
        for root in ("object", "oldObject")
    )
    return {
        own: "a service account of Ray's autoscaler changes pods of its own RayCluster, which has its name",
        f"{same_owners_and_finalizers()} && {same_of_prefixes('labels', [KUBERAY])}": (
            "only KubeRay changes owner references, finalizers and ray.io/ labels of Ray's pods"
        ),
    }
