"""Admission policies: which ones a stack declares, which requests they match, and which they exempt."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from components.admission.accelerators import POD_OWNERS
from components.admission.policies import AdmissionPolicies, AdmissionPoliciesArgs
from components.admission.priorities import PriorityNames
from components.admission.ray import Engine
from components.controller.pod import NAME, NAMESPACE
from settings.model.operators.kueue import Kueue
from tests.unit.components.harness import Declarations, declare

QUEUED = {"matchExpressions": [{"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"}]}
QUEUED_KINDS = ("rayjobs", "rayclusters", "rayservices", "jobs", "jobsets", "leaderworkersets")
OF_MUSTER = ("leaderworkersets",)  # which Kueue admits by their pods
BY_RIGHTS = ("muster-tenants-have-no-resourceclaims", "muster-tenants-have-no-provisioningrequests")
ALWAYS = {
    "muster-vpa-leaves-ray-alone",
    *BY_RIGHTS,
    "muster-ray-needs-a-queue",
    "muster-job-needs-a-queue",
    "muster-jobset-needs-a-queue",
    "muster-lws-needs-a-queue",
    *(f"muster-{owner.plural}-use-accelerators-of-queues" for owner in POD_OWNERS),
    *(f"muster-{kind}-use-accelerators-of-queues" for kind in QUEUED_KINDS),
    *(f"muster-{kind}-stay-inside" for kind in ("rayjobs", "rayclusters", "rayservices")),
    *(f"muster-{kind}-need-a-token" for kind in ("rayjobs", "rayclusters", "rayservices")),
    *(f"muster-{kind}-claim-no-storage" for kind in QUEUED_KINDS),
    *(f"muster-{kind}-are-bounded" for kind in ("rayjobs", "rayclusters", "rayservices")),
    *(f"muster-{kind}-scale-themselves" for kind in ("rayjobs", "rayclusters", "rayservices")),
    "muster-workloads-scale-their-raycluster",
    "muster-workloads-change-their-pods",
    "muster-pods-of-gangs-are-kept",
    "muster-pods-of-gangs-do-not-grow",
    "muster-pods-of-gangs-stop-in-time",
    "muster-evicted-pods-stop-in-time",
    *(f"muster-{kind}-claim-no-quota" for kind in (*QUEUED_KINDS, "pods")),
    "muster-statefulsets-of-leaderworkersets-claim-no-quota",
    *(f"muster-{kind}-have-allowed-priorities" for kind in QUEUED_KINDS),
    *(f"muster-{owner.plural}-have-allowed-priorities" for owner in POD_OWNERS),
}
GANGS = {
    "muster-queued-rayjobs-can-be-suspended",
    "muster-queued-ray-is-deleted-whole",
    "muster-queued-job-is-deleted-whole",
    "muster-queued-jobset-is-deleted-whole",
    "muster-queued-lws-is-deleted-whole",
    "muster-jobs-of-gangs-are-deleted-with-them",
    "muster-jobs-of-gangs-are-kept",
    *(f"muster-queued-{kind}-can-be-admitted" for kind in QUEUED_KINDS),
    *(f"muster-queued-{kind}-stay-as-admitted" for kind in QUEUED_KINDS),
}
KUEUE = {
    f"muster-{kind}-are-valid"
    for kind in ("clusterqueues", "cohorts", "localqueues", "resourceflavors", "workloads")
}
CLEANUP = "muster-redis-cleanup-has-quota"  # it applies to KubeRay too
SCALES = {
    "muster-leaderworkersets-do-not-grow-by-scale",
    "muster-statefulsets-of-leaderworkersets-keep-their-scale",
}
OWN = {"muster-controller-makes-only-dry-runs", "muster-controller-opens-only-gates", CLEANUP, *SCALES}
LABEL = {"muster-raycronjobs-name-their-queue", "muster-rayjobs-of-raycronjobs-are-queued"}
TEMPLATES = {
    "muster-raycronjobs-need-a-queue",
    "muster-queued-raycronjobs-can-be-suspended",
    "muster-queued-raycronjobs-can-be-admitted",
    "muster-queued-raycronjobs-have-short-names",
    *(
        f"muster-raycronjobs-{what}"
        for what in (
            "use-accelerators-of-queues",
            "stay-inside",
            "need-a-token",
            "claim-no-storage",
            "claim-no-quota",
            "are-bounded",
            "scale-themselves",
            "have-allowed-priorities",
        )
    ),
}
REFUSED = {"muster-tenants-have-no-raycronjobs"}
SUSPEND = {f"muster-suspend-queued-{word}" for word in ("ray", "rayservices", "jobs", "jobsets", *OF_MUSTER)}
ELASTIC = {
    "muster-queued-autoscaled-ray-is-elastic",
    "muster-queued-autoscaled-raycronjobs-are-elastic",
    "muster-autoscaled-rayjobs-of-raycronjobs-are-elastic",
}
ASK = {f"muster-queued-{kind}-are-suspended" for kind in QUEUED_KINDS}


@cache
def declared(engine: Engine = "muster", serves_mutating: bool = True) -> Declarations:
    args = AdmissionPoliciesArgs(engine, serves_mutating, 5000)
    return declare(lambda: AdmissionPolicies("muster", args))


def names(declarations: Declarations, kind: str) -> set[str]:
    return {name.partition("/")[2] for name in declarations.kinds(kind)}


@pytest.mark.parametrize(("engine", "objects"), [("muster", KUEUE | OWN), ("kueue", set())])
@pytest.mark.parametrize(
    ("serves_mutating", "mutating", "validating"),
    [
        pytest.param(True, SUSPEND | LABEL, ALWAYS | GANGS | TEMPLATES, id="the API server suspends"),
        pytest.param(False, set(), ALWAYS | GANGS | ASK | REFUSED, id="users suspend"),
    ],
)
def test_the_engine_decides_which_policies_are_declared(
    engine: Engine, objects: set[str], serves_mutating: bool, mutating: set[str], validating: set[str]
) -> None:
    """Engine kueue has no policies for Kueue's objects, as its own webhooks check them."""
    declarations = declared(engine, serves_mutating)
    annotated = ELASTIC if engine == "kueue" and mutating else set()
    words = ("suspend-queued-{}", "queued-{}-can-be-admitted", "queued-{}-stay-as-admitted")
    by_field = {
        f"muster-{word.format(kind)}" for word in (*words, "queued-{}-are-suspended") for kind in OF_MUSTER
    }
    unused = by_field if engine == "kueue" else set[str]()
    assert names(declarations, "MutatingAdmissionPolicy") == (mutating - unused) | annotated
    assert names(declarations, "ValidatingAdmissionPolicy") == (validating - unused) | objects


ELASTIC_JOBS = "ElasticJobsViaWorkloadSlices"
SUITS: dict[str, tuple[dict[str, Any], bool]] = {
    "the default version": ({}, True),
    "its gate off": ({"featureGates": {ELASTIC_JOBS: False}}, False),
    "0.17": ({"version": "0.17.3"}, False),
    "0.17 with its gate": ({"version": "0.17.3", "featureGates": {ELASTIC_JOBS: True}}, True),
    "0.18": ({"version": "0.18.0"}, True),
}


@pytest.mark.parametrize("name", SUITS)
def test_kueue_gets_autoscaled_objects_if_it_resizes_them(name: str) -> None:
    settings, admitted = SUITS[name]
    assert Kueue.model_validate(settings).elastic_jobs is admitted
    args = AdmissionPoliciesArgs("kueue", True, 5000, autoscaled=admitted)
    declarations = declare(lambda: AdmissionPolicies("muster", args))
    mutating = names(declarations, "MutatingAdmissionPolicy")
    assert ("muster-queued-autoscaled-ray-is-elastic" in mutating) is admitted
    policy = declarations.spec("ValidatingAdmissionPolicy/muster-queued-rayclusters-can-be-admitted")
    messages = [validation["message"] for validation in policy["validations"]]
    refused = "a queued RayCluster can't grow, so it can't be autoscaled"
    assert any(message.startswith(refused) for message in messages) is not admitted


def test_every_policy_is_bound() -> None:
    declarations = declared()
    for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        for name in names(declarations, kind):
            binding = declarations[f"{kind}Binding/{name}"]
            assert binding.inputs["spec"]["policyName"] == name
            assert f"{kind}/{name}" in binding.depends_on
            assert declarations.spec(f"{kind}/{name}")["failurePolicy"] == "Fail"


def test_violations_are_denied() -> None:
    declarations = declared()
    for name in declarations.kinds("ValidatingAdmissionPolicyBinding"):
        assert declarations.spec(name)["validationActions"] == ["Deny"]


MUTATIONS = {
    "muster-suspend-queued-ray": (["rayjobs", "rayclusters"], "Object{spec: Object.spec{suspend: true}}", ()),
    "muster-suspend-queued-rayservices": (
        ["rayservices"],
        "Object{spec: Object.spec{rayClusterConfig: Object.spec.rayClusterConfig{suspend: true}}}",
        ('[JSONPatch{op: "add", path: "/spec/suspend", value: true}]',),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_queued_ray_objects_are_suspended_at_creation(name: str) -> None:
    resources, expression, patches = MUTATIONS[name]
    spec = declared().spec(f"MutatingAdmissionPolicy/{name}")
    rule = {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources}
    assert spec["matchConstraints"] == {"objectSelector": QUEUED, "resourceRules": [rule]}
    assert spec["reinvocationPolicy"] == "Never"
    assert spec["mutations"] == [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}},
        *({"patchType": "JSONPatch", "jsonPatch": {"expression": patch}} for patch in patches),
    ]


def test_kueue_gets_no_field_that_it_does_not_resume_by() -> None:
    spec = declared("kueue").spec("MutatingAdmissionPolicy/muster-suspend-queued-rayservices")
    assert [mutation["patchType"] for mutation in spec["mutations"]] == ["ApplyConfiguration"]


SCOPES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "muster-queued-rayjobs-can-be-suspended": (["CREATE", "UPDATE"], {"objectSelector": QUEUED}),
    "muster-queued-rayclusters-stay-as-admitted": (["UPDATE"], {"objectSelector": QUEUED}),
    "muster-rayjobs-stay-inside": (
        ["CREATE", "UPDATE"],
        {"namespaceSelector": {"matchLabels": {"muster.dev/tenant": "true"}}},
    ),
    "muster-vpa-leaves-ray-alone": (
        ["CREATE", "UPDATE"],
        {"namespaceSelector": {"matchLabels": {"muster.dev/tenant": "true"}}},
    ),
    "muster-rayservices-need-a-token": (
        ["CREATE", "UPDATE"],
        {"namespaceSelector": {"matchLabels": {"muster.dev/ray-auth": "token"}}},
    ),
    "muster-queued-ray-is-deleted-whole": (["DELETE"], {"objectSelector": QUEUED}),
    "muster-rayjobs-claim-no-quota": (["CREATE", "UPDATE"], {}),
    "muster-pods-claim-no-quota": (
        ["CREATE", "UPDATE"],
        {"objectSelector": {"matchExpressions": [{"key": "muster.dev/workload-uid", "operator": "Exists"}]}},
    ),
    "muster-workloads-are-valid": (["CREATE", "UPDATE"], {}),
    CLEANUP: (
        ["CREATE"],
        {
            "namespaceSelector": {"matchLabels": {"muster.dev/queue-required": "true"}},
            "objectSelector": {"matchExpressions": [{"key": "ray.io/node-type", "operator": "Exists"}]},
        },
    ),
    "muster-ray-needs-a-queue": (
        ["CREATE"],
        {"namespaceSelector": {"matchLabels": {"muster.dev/queue-required": "true"}}},
    ),
}


@pytest.mark.parametrize("name", SCOPES)
def test_policies_match_the_operations_and_namespaces_of_their_scope(name: str) -> None:
    operations, selectors = SCOPES[name]
    constraints = declared().spec(f"ValidatingAdmissionPolicy/{name}")["matchConstraints"]
    (rule,) = constraints.pop("resourceRules")
    assert (rule["operations"], constraints) == (operations, selectors)


def conditions(declarations: Declarations) -> Iterator[str]:
    for name in declarations.kinds("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        exempt = ("vpa", "are-valid", "muster-workloads-", "short-names", CLEANUP, *BY_RIGHTS)
        if not any(part in name for part in exempt):
            condition, *_ = declarations.spec(name)["matchConditions"]
            if condition["name"] == "asked-by-users":
                yield condition["expression"]


def test_policies_exempt_the_controllers_service_account() -> None:
    account = f"system:serviceaccount:{NAMESPACE}:{NAME}"
    assert all(account in condition for condition in conditions(declared("muster")))


def test_with_another_engine_no_service_account_is_exempt() -> None:
    assert not any("serviceaccount" in condition for condition in conditions(declared("kueue")))


def test_messages_have_one_line() -> None:
    """Kubernetes refuses others (k8s.io/api admissionregistration, Validation.message)."""
    declarations = declared()
    messages = [
        validation["message"]
        for name in declarations.kinds("ValidatingAdmissionPolicy")
        for validation in declarations.spec(name)["validations"]
    ]
    assert not [message for message in messages if "\n" in message]


NAMES = ("default", "prod", "dev")


def priority_rules(tenants: dict[str, tuple[str, ...]], engine: Engine = "muster") -> list[str]:
    args = AdmissionPoliciesArgs(engine, True, 5000, priorities=PriorityNames(NAMES, tenants))
    declarations = declare(lambda: AdmissionPolicies("muster", args))
    spec = declarations.spec("ValidatingAdmissionPolicy/muster-rayjobs-have-allowed-priorities")
    return [validation["expression"] for validation in spec["validations"]]


def test_tenants_that_may_use_all_priorities_have_no_rule() -> None:
    """The engine reports unknown names."""
    assert len(priority_rules({"team-a": NAMES})) == 1
    assert len(priority_rules({"team-a": NAMES, "team-b": ("dev",)})) == 2


def test_unlabelled_jobs_count_as_the_default_class() -> None:
    (_, of_label) = priority_rules({"team-b": ("dev",)})
    assert 'priority-class"].orValue("default") in variables.allowed' in of_label


def test_with_kai_its_own_priority_label_is_checked_too() -> None:
    assert any('labels[?"priorityClassName"]' in rule for rule in priority_rules({}, "kai"))
