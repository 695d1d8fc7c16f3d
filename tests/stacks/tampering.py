"""Kinds of tampering with the objects of stack local, each with the line that reports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from drift.comparison import rewritten
from preview.resources.kubernetes_writes import MANAGER, delete
from tools.kubernetes import ApiServer

Object = dict[str, Any]
RBAC, KUEUE, ADMISSION = "rbac.authorization.k8s.io", "kueue.x-k8s.io/v1beta2", "admissionregistration.k8s.io"
BY_HAND = "kubectl-edit"
STRANGER = {"kind": "User", "name": "mallory@example.com", "apiGroup": RBAC}
TEAM_A = {"kind": "Group", "name": "team-a@example.com", "apiGroup": RBAC}
ADMIN = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": RBAC}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def obj(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


@dataclass(frozen=True)
class Tampering:
    """`act` changes `target` on the API server; `line` is what the report says of it, `sign` how."""

    target: Object
    act: Callable[[ApiServer, Object], object]
    line: str
    sign: str = "~"


def edits(change: Callable[[Object], object]) -> Callable[[ApiServer, Object], object]:
    """Edits the live object as `kubectl edit` does."""

    def act(api: ApiServer, target: Object) -> None:
        def edit(live: Object) -> Object:
            change(live)
            return api.replace(live, BY_HAND)

        live = api.get(target)
        assert live is not None
        rewritten(api, live, edit)

    return act


def creates(api: ApiServer, target: Object) -> None:
    api.apply(target, BY_HAND)


def deletes(api: ApiServer, target: Object) -> None:
    delete(api, target, 10.0)


def recreates(**fields: Any) -> Callable[[ApiServer, Object], object]:
    """Deletes the object and creates it with other fields."""

    def act(api: ApiServer, target: Object) -> None:
        live = api.get(target)
        assert live is not None
        deletes(api, target)
        creates(api, {**target, "subjects": live["subjects"], **fields})

    return act


def as_pulumi(fields: Mapping[str, Any]) -> Callable[[ApiServer, Object], object]:
    """Applies more fields under the name of Pulumi's own field manager."""
    return lambda api, target: api.apply({**target, **fields}, MANAGER, force=True)


def unowned(change: Callable[[Object], object]) -> Callable[[ApiServer, Object], object]:
    """Edits the live object, and then removes its field managers."""

    def act(api: ApiServer, target: Object) -> None:
        edits(change)(api, target)
        edits(lambda live: live["metadata"].update(managedFields=[{}]))(api, target)

    return act


def gets_owner(owner: Object) -> Callable[[ApiServer, Object], object]:
    """Makes the garbage collector delete the object together with another one."""

    def act(api: ApiServer, target: Object) -> None:
        live = api.get(owner)
        assert live is not None
        reference = {key: live[key] for key in ("apiVersion", "kind")}
        reference |= {key: live["metadata"][key] for key in ("name", "uid")}
        edits(put(reference, "metadata", "ownerReferences", -1))(api, target)

    return act


def put(value: Any, *path: str | int) -> Callable[[Object], None]:
    """Sets the field at a path; `-1` appends to a list."""

    def change(live: Object) -> None:
        here: Any = live
        for step, then in pairwise(path):
            here = here.setdefault(step, [] if then == -1 else {}) if isinstance(here, dict) else here[step]
        if path[-1] == -1:
            here.append(value)
        else:
            here[path[-1]] = value

    return change


def drop(*path: str | int) -> Callable[[Object], None]:
    def change(live: Object) -> None:
        here: Any = live
        for step in path[:-1]:
            here = here[step]
        del here[path[-1]]

    return change


POD = ("spec", "template", "spec")
CONTROLLER = obj("apps/v1", "Deployment", "muster-controller", "muster-system")


def queue(name: str) -> Object:
    return obj(KUEUE, "ClusterQueue", name)


def network_policy(name: str, **fields: Any) -> Object:
    return obj("networking.k8s.io/v1", "NetworkPolicy", name, "team-a", **fields)


def validating(kind: str, name: str) -> Object:
    return obj(f"{ADMISSION}/v1", f"ValidatingAdmissionPolicy{kind}", f"muster-{name}")


TAMPERING: Mapping[str, Tampering] = {
    "a rule is added to a ClusterRole": Tampering(
        obj(f"{RBAC}/v1", "ClusterRole", "muster-queue-viewer"),
        edits(put(EVERYTHING, "rules", -1)),
        "rules[2]: {apiGroups: [*]",
    ),
    "a verb is added to a Role": Tampering(
        obj(f"{RBAC}/v1", "Role", "ray-user", "team-a"),
        edits(put("escalate", "rules", 0, "verbs", -1)),
        "rules[0].verbs[7]: escalate → (none)",
    ),
    "a subject is added to a RoleBinding": Tampering(
        obj(f"{RBAC}/v1", "RoleBinding", "ray-user", "team-b"),
        edits(put(STRANGER, "subjects", -1)),
        "subjects[1]: {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory@example.com} → (none)",
    ),
    "a subject is added to a ClusterRoleBinding": Tampering(
        obj(f"{RBAC}/v1", "ClusterRoleBinding", "muster-controller"),
        edits(put(STRANGER, "subjects", -1)),
        "subjects[1]: ",
    ),
    "a RoleBinding is created again for another role": Tampering(
        obj(f"{RBAC}/v1", "RoleBinding", "ray-user", "team-a"),
        recreates(roleRef=ADMIN),
        "roleRef.name: cluster-admin → ray-user",
        "±",
    ),
    "a deny policy allows all ingress": Tampering(
        network_policy("default-deny"), edits(put({}, "spec", "ingress", -1)), "spec.ingress: [{}] → (none)"
    ),
    "a policy opens another port": Tampering(
        network_policy("ray-heads"),
        edits(put({"port": 22}, "spec", "ingress", 0, "ports", -1)),
        "port: 22",
    ),
    "a policy applies to fewer pods": Tampering(
        network_policy("egress"),
        edits(put({"team": "none"}, "spec", "podSelector", "matchLabels")),
        "spec.podSelector.matchLabels: {team: none} → (none)",
    ),
    "a ClusterQueue is stopped": Tampering(
        queue("team-a"), edits(put("Hold", "spec", "stopPolicy")), "spec.stopPolicy: Hold → None"
    ),
    "a quota is raised": Tampering(
        queue("team-b"),
        edits(
            put("99", "spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"),
        ),
        "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: 99 → 8",
    ),
    "a preemption policy is changed": Tampering(
        queue("team-b"),
        edits(put("Any", "spec", "preemption", "reclaimWithinCohort")),
        "spec.preemption.reclaimWithinCohort: Any → ",
    ),
    "a LocalQueue is stopped": Tampering(
        obj(KUEUE, "LocalQueue", "user-queue", "team-a"),
        edits(put("HoldAndDrain", "spec", "stopPolicy")),
        "spec.stopPolicy: HoldAndDrain → None",
    ),
    "a cohort lends from another": Tampering(
        obj(KUEUE, "Cohort", "ml"), edits(put("rich", "spec", "parentName")), "spec.parentName: rich → (none)"
    ),
    "a flavor tolerates a taint": Tampering(
        obj(KUEUE, "ResourceFlavor", "cpu"),
        edits(put({"operator": "Exists"}, "spec", "tolerations", -1)),
        "spec.tolerations: [{operator: Exists}] → (none)",
    ),
    "a priority is raised": Tampering(
        obj(KUEUE, "WorkloadPriorityClass", "dev-priority"), edits(put(9999, "value")), "value: 9999 → 100"
    ),
    "a policy only warns": Tampering(
        validating("Binding", "pods-claim-no-quota"),
        edits(put(["Warn"], "spec", "validationActions")),
        "spec.validationActions[0]: Warn → Deny",
    ),
    "a policy excepts a namespace": Tampering(
        validating("Binding", "jobs-claim-no-quota"),
        edits(put({"free": "yes"}, "spec", "matchResources", "namespaceSelector", "matchLabels")),
        "namespaceSelector",
    ),
    "a policy's expression is always true": Tampering(
        validating("", "vpa-leaves-ray-alone"),
        edits(put("true", "spec", "validations", 0, "expression")),
        "spec.validations[0].expression: true → ",
    ),
    "a policy ignores its failures": Tampering(
        validating("", "rayservices-need-a-token"),
        edits(put("Ignore", "spec", "failurePolicy")),
        "spec.failurePolicy: Ignore → Fail",
    ),
    "a policy is deleted": Tampering(
        validating("Binding", "rayservices-need-a-token"), deletes, "validationActions=[Deny]", "+"
    ),
    "a namespace admits privileged pods": Tampering(
        obj("v1", "Namespace", "team-a"),
        edits(put("privileged", "metadata", "labels", "pod-security.kubernetes.io/enforce")),
        'metadata.labels["pod-security.kubernetes.io/enforce"]: privileged → baseline',
    ),
    "a label of a namespace is removed": Tampering(
        obj("v1", "Namespace", "team-b"),
        edits(drop("metadata", "labels", "muster.dev/tenant")),
        'metadata.labels["muster.dev/tenant"]: (none) → true',
    ),
    "a ResourceQuota is raised": Tampering(
        obj("v1", "ResourceQuota", "team-quota", "team-a"),
        edits(put("800", "spec", "hard", "requests.nvidia.com/gpu")),
        "800 → 8",
    ),
    "a LimitRange has another limit": Tampering(
        obj("v1", "LimitRange", "container-limits", "team-a"),
        edits(put({"type": "Pod", "max": {"cpu": "1m"}}, "spec", "limits", -1)),
        "{cpu: 1m}",
    ),
    "an account is annotated with another identity": Tampering(
        obj("v1", "ServiceAccount", "muster-controller", "muster-system"),
        edits(put({"iam.gke.io/gcp-service-account": "a@b"}, "metadata", "annotations")),
        "metadata.annotations: {iam.gke.io/gcp-service-account: a@b} → (none)",
    ),
    "a container is added to a Deployment": Tampering(
        CONTROLLER,
        edits(put({"name": "spy", "image": "spy"}, *POD, "containers", -1)),
        "spec.template.spec.containers[1]: ",
    ),
    "a Deployment's pods see the node's processes": Tampering(
        CONTROLLER, edits(put(True, *POD, "hostPID")), "spec.template.spec.hostPID: true → (none)"
    ),
    "a Deployment is scaled to zero": Tampering(
        CONTROLLER, edits(put(0, "spec", "replicas")), "spec.replicas: 0 → 2"
    ),
    "a budget lets all pods be evicted": Tampering(
        obj("policy/v1", "PodDisruptionBudget", "muster-controller", "muster-system"),
        edits(put(0, "spec", "minAvailable")),
        "spec.minAvailable: 0 → 1",
    ),
    "a finalizer blocks deletion": Tampering(
        obj(KUEUE, "ProvisioningRequestConfig", "queued-provisioning"),
        edits(put("example.com/never", "metadata", "finalizers", -1)),
        "metadata.finalizers: [example.com/never] → (none)",
    ),
    "an owner has the object collected with it": Tampering(
        obj(KUEUE, "AdmissionCheck", "queued-provisioning"),
        gets_owner(obj("v1", "Namespace", "default")),
        "metadata.ownerReferences: ",
    ),
    "a field is added under the name of Pulumi's manager": Tampering(
        obj(KUEUE, "LocalQueue", "user-queue", "team-b"),
        as_pulumi({"spec": {"clusterQueue": "team-b", "stopPolicy": "Hold"}}),
        "spec.stopPolicy: Hold → None",
    ),
    "a field is changed and its managers are removed": Tampering(
        obj(KUEUE, "ResourceFlavor", "l4"),
        unowned(put("cpu", "spec", "nodeLabels", "cloud.google.com/gke-nodepool")),
        'spec.nodeLabels["cloud.google.com/gke-nodepool"]: cpu → l4',
    ),
    "a team gets another RoleBinding": Tampering(
        obj(f"{RBAC}/v1", "RoleBinding", "extra", "team-a", roleRef=ADMIN, subjects=[STRANGER]),
        creates,
        "roleRef.name=cluster-admin",
        "-",
    ),
    "a team's group gets a ClusterRoleBinding": Tampering(
        obj(f"{RBAC}/v1", "ClusterRoleBinding", "extra", roleRef=ADMIN, subjects=[TEAM_A]),
        creates,
        "roleRef.name=cluster-admin",
        "-",
    ),
    "another NetworkPolicy allows all": Tampering(
        network_policy("extra", spec={"podSelector": {}, "egress": [{}], "policyTypes": ["Egress"]}),
        creates,
        "what any policy allows is allowed",
        "-",
    ),
    "another LocalQueue leads to another team's quota": Tampering(
        obj(KUEUE, "LocalQueue", "extra", "team-a", spec={"clusterQueue": "team-b"}),
        creates,
        "clusterQueue=team-b",
        "-",
    ),
    "another ClusterQueue borrows from the cohort": Tampering(
        obj(KUEUE, "ClusterQueue", "extra", spec={"cohortName": "ml"}), creates, "cohort=ml", "-"
    ),
}
