"""Admission of Kueue's objects where no Kueue runs; docs/kueue-webhooks.md lists the rules."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target, User
from tests.stacks.kueue_objects import kueue, pod_set, workload
from tests.stacks.ray_requests import ADMIN, refusal, refused_patch

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
GATES = "kueue.x-k8s.io/admission-gated-by"


def quota(resource: str, nominal: Any = 4, **limits: Any) -> dict[str, Any]:
    return {"name": resource, "nominalQuota": nominal, **limits}


def group(covered: list[str], *flavors: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "coveredResources": covered,
        "flavors": [{"name": name, "resources": resources} for name, resources in flavors],
    }


def queue(*groups: dict[str, Any], **spec: Any) -> Manifest:
    return kueue("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": list(groups), **spec})


def of_cpu(nominal: Any = 4, **limits: Any) -> dict[str, Any]:
    return group(["cpu"], ("default", [quota("cpu", nominal, **limits)]))


def cohort(nominal: Any = 4, parent: str = "", **limits: Any) -> Manifest:
    spec = {"resourceGroups": [of_cpu(nominal, **limits)]}
    return kueue("Cohort", spec | ({"parentName": parent} if parent else {}))


def weighed(kind: str, weight: Any) -> Manifest:
    spec: dict[str, Any] = {"fairSharing": {"weight": weight}}
    return kueue(kind, spec | ({"clusterQueue": "team-a"} if kind == "LocalQueue" else {}))


def checked(*flavors: str) -> Manifest:
    checks = [{"name": "check", "onFlavors": list(flavors)}]
    return queue(of_cpu(), admissionChecksStrategy={"admissionChecks": checks})


def selecting(**selector: Any) -> Manifest:
    return queue(of_cpu(), namespaceSelector=selector)


def flavor(**spec: Any) -> Manifest:
    return kueue("ResourceFlavor", spec)


def topology(**request: Any) -> Manifest:
    return workload(pod_set(topologyRequest={"required": "rack", **request}))


def elsewhere(of: Manifest) -> Manifest:
    """Returns the manifest in the older API version, which has the same fields for quotas."""
    return {**of, "apiVersion": "kueue.x-k8s.io/v1beta1"}


QUOTAS = "must be quantities from 0 to 1P of cpu or 1E of anything else, of at most 64 characters"
TWICE = "a resource can be in coveredResources only once"
FLAVORS = "a flavor can be in only one of spec.resourceGroups"
LIMITS = "borrowingLimit and lendingLimit need spec.{}"
WEIGHT = "spec.fairSharing.weight must be 0, or a quantity of more than 1n"
TOTAL = "can have at most 256 flavors and 256 resources in total"
SELECTOR = "spec.namespaceSelector must be a label selector"
CHECKS = "must name flavors of spec.resourceGroups"
REQUESTS = "requests and limits in spec.podSets must be quantities"
MIN_COUNT = "at most one of spec.podSets can have minCount"
TEMPLATES = "labels and annotations in the templates of spec.podSets"
SLICES = "podSetSliceRequiredTopology and podSetSliceSize of a topologyRequest go together"
GATED = f"the annotation {GATES} must be a list of different names"


class Creation(NamedTuple):
    """An object, and a part of the message that refuses it; empty if it is accepted."""

    name: str
    manifest: Manifest
    message: str = ""

    def __str__(self) -> str:
        return self.name


MANY = [
    group(
        [f"example.com/r{g}x{i}" for i in range(64)],
        (f"f{g}", [quota(f"example.com/r{g}x{i}") for i in range(64)]),
    )
    for g in range(5)
]
WIDE = [group(["cpu"], *((f"f{g}x{i}", [quota("cpu")]) for i in range(64))) for g in range(5)]
for number, wide in enumerate(WIDE):
    wide["coveredResources"] = [f"example.com/r{number}"]
    for of_flavor in wide["flavors"]:
        of_flavor["resources"][0]["name"] = f"example.com/r{number}"
PAIRS = group(
    [f"example.com/r{i}" for i in range(64)],
    *((f"f{f}", [quota(f"example.com/r{i}") for i in range(64)]) for f in range(9)),
)

CREATIONS = [
    # Quotas of ClusterQueues
    Creation("a quota", queue(of_cpu())),
    Creation("a quota in the older version", elsewhere(queue(of_cpu()))),
    Creation("a fraction", queue(of_cpu("1500m"))),
    Creation("a quota of zero", queue(of_cpu(0))),
    Creation("an exponent", queue(of_cpu("2e3"))),
    Creation("a negative quota", queue(of_cpu("-1")), QUOTAS),
    Creation("a negative quota in the older version", elsewhere(queue(of_cpu("-1"))), QUOTAS),
    Creation("a quota of 1e400", queue(of_cpu("1e400")), QUOTAS),
    Creation("a quota of 2P cores", queue(of_cpu("2P")), QUOTAS),
    Creation("a quota of 2P bytes", queue(group(["memory"], ("f", [quota("memory", "2P")])))),
    Creation("a quota of 8E bytes", queue(group(["memory"], ("f", [quota("memory", "8E")]))), QUOTAS),
    Creation("a quota of seventy digits", queue(of_cpu("0" * 69 + "1")), QUOTAS),
    Creation("an invalid exponent", queue(of_cpu("1e1.5")), QUOTAS),
    Creation("a borrowing limit", queue(of_cpu(borrowingLimit=2), cohortName="ml")),
    Creation("a negative borrowing limit", queue(of_cpu(borrowingLimit=-2), cohortName="ml"), QUOTAS),
    Creation("a lending limit", queue(of_cpu(lendingLimit=4), cohortName="ml")),
    Creation("a negative lending limit", queue(of_cpu(lendingLimit=-4), cohortName="ml"), QUOTAS),
    Creation(
        "a lending limit above the quota",
        queue(of_cpu(lendingLimit=5), cohortName="ml"),
        "must be at most the nominal",
    ),
    Creation("a lending limit without a cohort", queue(of_cpu(lendingLimit=1)), LIMITS.format("cohortName")),
    # Resource groups
    Creation("two groups", queue(of_cpu(), group(["memory"], ("other", [quota("memory")])))),
    Creation("a resource in two groups", queue(of_cpu(), group(["cpu"], ("other", [quota("cpu")]))), TWICE),
    Creation(
        "a flavor in two groups", queue(of_cpu(), group(["memory"], ("default", [quota("memory")]))), FLAVORS
    ),
    Creation(
        "resources in another order",
        queue(group(["cpu", "memory"], ("f", [quota("memory"), quota("cpu")]))),
        "in the same order",
    ),
    Creation(
        "an invalid resource name",
        queue(group(["a b"], ("f", [quota("a b")]))),
        "must be valid names of resources",
    ),
    Creation("as many resources as allowed", queue(*MANY[:4])),
    Creation("too many resources", queue(*MANY), TOTAL),
    Creation("too many flavors", queue(*WIDE), TOTAL),
    Creation("too many pairs", queue(PAIRS), TOTAL),
    # Other fields of ClusterQueues
    Creation("a check on its flavor", checked("default")),
    Creation("a check on another flavor", checked("default", "other"), CHECKS),
    Creation("a selector", selecting(matchExpressions=[{"key": "a/b", "operator": "In", "values": ["c"]}])),
    Creation("an invalid operator", selecting(matchExpressions=[{"key": "a", "operator": "Is"}]), SELECTOR),
    Creation("In without values", selecting(matchExpressions=[{"key": "a", "operator": "In"}]), SELECTOR),
    Creation("an invalid label in the selector", selecting(matchLabels={"a b": "c"}), SELECTOR),
    Creation("an invalid value in the selector", selecting(matchLabels={"a": "b c"}), SELECTOR),
    Creation("a weight", queue(of_cpu(), fairSharing={"weight": "0.5"})),
    Creation("a weight of zero", queue(of_cpu(), fairSharing={"weight": 0})),
    Creation("a weight too small", queue(of_cpu(), fairSharing={"weight": "1n"}), WEIGHT),
    Creation("a negative weight", queue(of_cpu(), fairSharing={"weight": -1}), WEIGHT),
    # Cohorts
    Creation("a cohort", cohort()),
    Creation("an empty cohort", kueue("Cohort", {})),
    Creation("a cohort's lending limit above its quota", cohort(parent="ml", lendingLimit=5)),
    Creation("a cohort's negative quota", cohort(-1), QUOTAS),
    Creation(
        "a cohort's borrowing limit without a parent", cohort(borrowingLimit=5), LIMITS.format("parentName")
    ),
    Creation("a cohort's negative weight", weighed("Cohort", "-1"), WEIGHT),
    # LocalQueues
    Creation("a local queue", kueue("LocalQueue", {"clusterQueue": "team-a"})),
    Creation("a local queue's weight", weighed("LocalQueue", "2")),
    Creation("a local queue's negative weight", weighed("LocalQueue", "-2"), WEIGHT),
    Creation("a local queue's weight of 1e400", weighed("LocalQueue", "1e400"), WEIGHT),
    # ResourceFlavors
    Creation("a flavor", flavor(nodeLabels={"cloud.google.com/gke-nodepool": "l4"})),
    Creation(
        "an invalid node label",
        flavor(nodeLabels={"not a label": "l4"}),
        "spec.nodeLabels must be valid labels",
    ),
    Creation(
        "an invalid node label value",
        flavor(nodeLabels={"pool": "l 4"}),
        "spec.nodeLabels must be valid labels",
    ),
    Creation("a taint", flavor(nodeTaints=[{"key": "a", "value": "b", "effect": "NoSchedule"}])),
    Creation(
        "an invalid taint key",
        flavor(nodeTaints=[{"key": "a b", "effect": "NoSchedule"}]),
        "must be valid taints",
    ),
    Creation(
        "a taint twice",
        flavor(nodeTaints=[{"key": "a", "value": v, "effect": "NoSchedule"} for v in "bc"]),
        "the same key and effect",
    ),
    Creation("a toleration of everything", flavor(tolerations=[{"operator": "Exists"}])),
    Creation(
        "an invalid toleration key",
        flavor(tolerations=[{"key": "a b", "operator": "Exists"}]),
        "must be valid keys of taints",
    ),
    # Workloads
    Creation("a workload", workload()),
    Creation("one minCount", workload(pod_set(minCount=1), pod_set("more"))),
    Creation("two minCounts", workload(pod_set(minCount=1), pod_set("more", minCount=1)), MIN_COUNT),
    Creation("a minCount of an elastic job", workload(pod_set(minCount=1), annotations=ELASTIC), MIN_COUNT),
    Creation("negative requests", workload(pod_set(requests={"cpu": "-1"})), REQUESTS),
    Creation("requests of pods", workload(pod_set(requests={"pods": "1"})), REQUESTS),
    Creation("requests of 1e400", workload(pod_set(requests={"cpu": "1e400"})), REQUESTS),
    Creation(
        "an invalid label in a template", workload(pod_set(metadata={"labels": {"a b": "c"}})), TEMPLATES
    ),
    Creation(
        "an invalid annotation in a template",
        workload(pod_set(metadata={"annotations": {"a b": "c"}})),
        TEMPLATES,
    ),
    Creation(
        "any value of an annotation", workload(pod_set(metadata={"annotations": {"A.b/C": "any thing"}}))
    ),
    Creation("slices", topology(podSetSliceRequiredTopology="rack", podSetSliceSize=2)),
    Creation("slices without a size", topology(podSetSliceRequiredTopology="rack"), SLICES),
    Creation("a slice size without a topology", topology(podSetSliceSize=2), SLICES),
    Creation("a gate", workload(annotations={GATES: "example.com/a,example.com/b"})),
    Creation("a gate twice", workload(annotations={GATES: "example.com/a,example.com/a"}), GATED),
    Creation("an empty gate", workload(annotations={GATES: "example.com/a,"}), GATED),
]


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_creations_of_kueue_objects_are_checked(server: Kubectl, case: Creation) -> None:
    error = refusal(server, ADMIN, case.manifest)
    assert case.message in error
    assert bool(error) is bool(case.message)


SETS = [pod_set("main", 4), pod_set("more", 1)]
USAGE = {
    "name": "main",
    "count": 4,
    "flavors": {"cpu": "f"},
    "resourceUsage": {"cpu": "2500m", "memory": "4Ki"},
}
MORE = {"name": "more", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}
ADMISSION = {"clusterQueue": "team-a", "podSetAssignments": [USAGE, MORE]}
WHEN = "2026-01-01T00:00:00Z"


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": WHEN}


RESERVED = {"conditions": [condition("QuotaReserved")], "admission": ADMISSION}
UPDATES = [{"name": "main", "nodeSelector": {"pool": "l4"}}]


def check(state: str, updates: list[dict[str, Any]]) -> dict[str, Any]:
    checked = {"name": "check", "state": state, "message": "", "lastTransitionTime": WHEN}
    return {"admissionChecks": [{**checked, "podSetUpdates": updates}]}


def admission(**usage: Any) -> dict[str, Any]:
    return {**RESERVED, "admission": {**ADMISSION, "podSetAssignments": [{**USAGE, **usage}, MORE]}}


def reclaimable(**counts: int) -> dict[str, Any]:
    return {"reclaimablePods": [{"name": name, "count": count} for name, count in counts.items()]}


class Status(NamedTuple):
    """A Workload's status before and after a change, and a part of the message that refuses the change."""

    name: str
    before: dict[str, Any]
    after: dict[str, Any]
    message: str = ""

    def __str__(self) -> str:
        return self.name


RESERVED_AGAIN = admission(flavors={"cpu": "g"}) | {
    "conditions": [{**condition("QuotaReserved"), "lastTransitionTime": "2026-01-01T00:00:01Z"}]
}
ABSENT = "status.admission must be set while the condition QuotaReserved is True"
STATUSES = [
    Status("quota reserved", {}, RESERVED),
    Status("quota reserved without an admission", {}, {"conditions": RESERVED["conditions"]}, ABSENT),
    Status("usage of an unknown pod set", {}, admission(name="other"), "must name pod sets of the spec"),
    Status(
        "usage that is no multiple of the count",
        {},
        admission(resourceUsage={"cpu": "3", "memory": "5"}),
        "a multiple",
    ),
    Status(
        "millicores that are no multiple of the count",
        {},
        admission(resourceUsage={"cpu": "2501m"}),
        "a multiple",
    ),
    Status("another admission", RESERVED, admission(flavors={"cpu": "g"}), "is immutable until quota"),
    Status("another admission by another reservation", RESERVED, RESERVED_AGAIN),
    Status(
        "another count", RESERVED, admission(count=2, resourceUsage={"cpu": "1250m"}), "is immutable until"
    ),
    Status("the same admission with a condition", RESERVED, {**RESERVED, **check("Pending", [])}),
    Status("evicted", RESERVED, {"conditions": [condition("QuotaReserved", "False")], "admission": None}),
    Status("reclaimable pods", RESERVED, {**RESERVED, **reclaimable(main=2)}),
    Status(
        "more reclaimable pods than the pod set has",
        {},
        reclaimable(main=5),
        "must be at most that of the pod set",
    ),
    Status(
        "reclaimable pods of an unknown pod set",
        {},
        reclaimable(other=1),
        "reclaimablePods must name pod sets",
    ),
    Status(
        "fewer reclaimable pods",
        {**RESERVED, **reclaimable(main=2)},
        {**RESERVED, **reclaimable(main=1)},
        "can only rise while quota is reserved",
    ),
    Status("a ready check", {}, check("Ready", UPDATES)),
    Status(
        "updates of an unknown pod set", {}, check("Ready", [{"name": "other"}]), "podSetUpdates of status"
    ),
    Status(
        "updates with an invalid label",
        {},
        check("Ready", [{"name": "main", "labels": {"a b": ""}}]),
        "podSetUpdates of status",
    ),
    Status(
        "other updates of a ready check",
        check("Ready", UPDATES),
        check("Ready", []),
        "of an admission check that is Ready are immutable",
    ),
    Status("updates of a retried check", check("Ready", UPDATES), check("Retry", [])),
    Status("another cluster", {}, {"clusterName": "other"}, "must be one of the nominatedClusterNames"),
]


Made = Callable[[dict[str, Any]], str]


@pytest.fixture(scope="module")
def with_status(server: Kubectl) -> Iterator[Made]:
    """Returns the name of a Workload with this status; the tests share it, as dry runs do not change it."""
    names: dict[str, str] = {}

    def patched_name(status: dict[str, Any]) -> str:
        patch = json.dumps({"status": status})
        if patch not in names:
            name = f"written-{len(names)}"
            server.create([workload(*copy.deepcopy(SETS), name=name)])
            names[patch] = name
            at = ("patch", f"workload/{name}", "--namespace=team-a", "--subresource=status", "--type=merge")
            server.run(*at, "--patch", patch)
        return names[patch]

    yield patched_name
    server.run("delete", "workload", *names.values(), "--namespace=team-a")


def of_team(kind: str, name: str, subresource: str = "") -> Target:
    return Target("kueue.x-k8s.io/v1beta2", kind, name, "team-a", subresource)


@pytest.mark.parametrize("case", STATUSES, ids=str)
def test_statuses_of_workloads_are_checked(server: Kubectl, with_status: Made, case: Status) -> None:
    written = of_team("workload", with_status(case.before), "status")
    error = refused_patch(server, ADMIN, written, {"status": case.after})
    assert case.message in error
    assert bool(error) is bool(case.message)


SMALLER = {"cpu": "1250m", "memory": "2Ki"}
NO_PODS = admission(count=0, flavors={}, resourceUsage={})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(RESERVED, admission(count=2, resourceUsage=SMALLER), "", id="fewer pods"),
        pytest.param(admission(count=2, resourceUsage=SMALLER), RESERVED, "", id="more pods"),
        pytest.param(RESERVED, admission(count=0, resourceUsage={}), "", id="no pods"),
        pytest.param(NO_PODS, RESERVED, "", id="the first pods"),
        pytest.param(RESERVED, admission(flavors={"cpu": "g"}), "is immutable until", id="another flavor"),
        pytest.param(
            RESERVED, RESERVED | {"admission": {**ADMISSION, "clusterQueue": "b"}}, "is immutable", id="queue"
        ),
    ],
)
def test_gangs_of_autoscaled_jobs_change_their_size(
    server: Kubectl, before: dict[str, Any], after: dict[str, Any], message: str
) -> None:
    server.create([workload(*copy.deepcopy(SETS), name="autoscaled", annotations={"muster.dev/sizes": "{}"})])
    try:
        at = ("patch", "workload/autoscaled", "--namespace=team-a", "--subresource=status", "--type=merge")
        server.run(*at, "--patch", json.dumps({"status": before}))
        error = refused_patch(server, ADMIN, of_team("workload", "autoscaled", "status"), {"status": after})
    finally:
        server.run("delete", "workload", "autoscaled", "--namespace=team-a")
    assert message in error
    assert bool(error) is bool(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"path": "/spec/podSets/0/count", "value": 2}, "", id="a lower count"),
        pytest.param({"path": "/spec/podSets/0/count", "value": 5}, "are immutable", id="a higher count"),
        pytest.param({"path": "/spec/podSets/0/name", "value": "x"}, "are immutable", id="another name"),
        pytest.param(
            {"path": "/spec/podSets/0/template/spec/priorityClassName", "value": "x"},
            "are immutable",
            id="another template",
        ),
        pytest.param({"path": "/spec/active", "value": False}, "", id="deactivated"),
        pytest.param({"path": "/metadata/annotations", "value": {GATES: "a.b/c"}}, "not added", id="gated"),
    ],
)
def test_a_workload_with_quota_keeps_its_pod_sets(
    server: Kubectl, with_status: Made, change: dict[str, Any], message: str
) -> None:
    holder = of_team("workload", with_status(RESERVED))
    error = refused_patch(server, ADMIN, holder, [{"op": "add", **change}])
    assert message in error
    assert bool(error) is bool(message)


BOB: User = ("--as=bob@example.com", "--as-group=system:authenticated")
JOB_UID = "kueue.x-k8s.io/job-uid"
KEEPS = f"a Workload keeps its controller and the label {JOB_UID}: delete it with its job"


@pytest.fixture(scope="module")
def editor(server: Kubectl) -> Iterator[User]:
    """Bob, that may write Workloads of team-a: no team of a stack may."""
    name = ("workload-editor", "--namespace=team-a")
    server.run("create", "role", *name, "--verb=get,patch", "--resource=workloads.kueue.x-k8s.io")
    server.run("create", "rolebinding", *name, "--role=workload-editor", "--user=bob@example.com")
    yield BOB
    server.run("delete", "rolebinding", *name)
    server.run("delete", "role", *name)


def owned_by(uid: str, *, controller: bool = True) -> list[dict[str, Any]]:
    return [
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "job", "uid": uid, "controller": controller}
    ]


# changes of its metadata by the UID of its job, whether an administrator makes them, the refusal
KEPT: dict[str, tuple[Callable[[str], dict[str, Any]], bool, str]] = {
    "no owner": (lambda uid: {"ownerReferences": []}, False, KEEPS),
    "another job": (lambda uid: {"ownerReferences": owned_by("2")}, False, KEEPS),
    "no controller": (lambda uid: {"ownerReferences": owned_by(uid, controller=False)}, False, KEEPS),
    "no label": (lambda uid: {"labels": {JOB_UID: None}}, False, KEEPS),
    "another label": (lambda uid: {"labels": {JOB_UID: "2"}}, False, KEEPS),
    "one more label": (lambda uid: {"labels": {"team": "a"}}, False, ""),
    "no owner, by an administrator": (lambda uid: {"ownerReferences": []}, True, ""),
}


@pytest.fixture(scope="module")
def job_uid(server: Kubectl) -> Iterator[str]:
    """The UID of a job that has the Workload `of-job`."""
    uid = server.run("get", "rayjob/job", "--namespace=team-a", "-o", "jsonpath={.metadata.uid}")
    server.create([workload(name="of-job", ownerReferences=owned_by(uid), labels={JOB_UID: uid})])
    yield uid
    server.run("delete", "workload/of-job", "--namespace=team-a")


@pytest.mark.parametrize("name", KEPT)
def test_a_workload_keeps_its_job(server: Kubectl, editor: User, job_uid: str, name: str) -> None:
    change, by_administrator, message = KEPT[name]
    user = ADMIN if by_administrator else editor
    patch = {"metadata": change(job_uid)}
    assert refused_patch(server, user, of_team("workload", "of-job"), patch) == message


FIXED = [
    pytest.param(
        kueue("AdmissionCheck", {"controllerName": "example.com/a"}),
        {"controllerName": "example.com/b"},
        id="an AdmissionCheck's controller",
    ),
    pytest.param(
        kueue("LocalQueue", {"clusterQueue": "team-a"}), {"clusterQueue": "team-b"}, id="a LocalQueue's queue"
    ),
]


@pytest.mark.parametrize(("manifest", "spec"), FIXED)
def test_the_schema_makes_fields_immutable(server: Kubectl, manifest: Manifest, spec: dict[str, str]) -> None:
    """No webhook of Kueue checks these; its CustomResourceDefinitions do."""
    target = of_team(manifest["kind"], "new")
    server.create([manifest])
    try:
        assert "field is immutable" in refused_patch(server, ADMIN, target, {"spec": spec})
    finally:
        server.run("delete", f"{target.kind}s.kueue.x-k8s.io", "new", "--namespace=team-a")


def test_checks_are_validated_only_when_the_flavors_change(server: Kubectl) -> None:
    """Other changes of the queue do not validate its checks, as in Kueue."""
    manifest = checked("default")
    manifest["metadata"]["name"] = "checked"
    server.create([manifest])
    other = {
        "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "check", "onFlavors": ["x"]}]}}
    }
    target = of_team("clusterqueue", "checked")
    try:
        assert refused_patch(server, ADMIN, target, {"spec": {"stopPolicy": "Hold"}}) == ""
        assert CHECKS in refused_patch(server, ADMIN, target, other)
    finally:
        server.run("delete", "clusterqueue/checked")
