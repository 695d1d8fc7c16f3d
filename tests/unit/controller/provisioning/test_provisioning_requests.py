"""ProvisioningRequests of a gang: their contents, owners and deletion."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from muster.cluster.cluster_state import ClusterState
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.gangs.job_writes import job_writes, sync_provisioning_requests
from muster.controller.provisioning import provisioning_checks, provisioning_requests
from muster.controller.provisioning.pod_set_groups import grouped
from muster.kube import kinds
from muster.kube.writes import Create, MergePatch
from muster.objects.kueue import PodSet
from muster.objects.pods import encode_template
from tests.simulation.manifests import CHECK, WORKER, local_stack, ray_job, template
from tests.unit.controller.builders import (
    NOW_MS,
    REQUEST,
    Body,
    make_cluster,
    request,
    request_template,
    runtime_class,
    workload,
)

LEAVING = {"deletionTimestamp": "2027-01-15T08:00:00Z"}


def writes_for(*objects: Body, check: str = "Pending", tries: int = 0, **fields: Any) -> list[str]:
    """Returns the writes about the requests of a gang with quota."""
    gang = workload(ray_job("dev"), "QuotaReserved", check=check, tries=tries, **fields)
    return [
        str(s.write).replace("team-a/", "")
        for s in sync_provisioning_requests(gang, cluster_of(*objects), NOW_MS)
    ]


def cluster_of(*objects: Body) -> ClusterState:
    requests = [o for o in objects if "spec" in o]
    templates = [o for o in objects if "template" in o]
    return make_cluster({kinds.PROVISIONING_REQUESTS: requests, kinds.POD_TEMPLATES: templates})


def numbered(number: int) -> str:
    return REQUEST.replace("-1", f"-{number}")


def asked(number: int = 1) -> list[str]:
    name = numbered(number)
    return [f"create PodTemplate ppt-{name}-gpu", f"create ProvisioningRequest {name}"]


def deleted(number: int = 1) -> list[str]:
    name = numbered(number)
    return [f"delete PodTemplate ppt-{name}-gpu", f"delete ProvisioningRequest {name}"]


OUT_OF_DATE = request()
OUT_OF_DATE["spec"]["provisioningClassName"] = "another"
OTHER_PODS = request()
OTHER_PODS["spec"]["podSets"].append({"podTemplateRef": {"name": f"ppt-{REQUEST}-other"}, "count": 1})
WORKLOAD_UID = "uid-rayjob-dev-0b2fb"

TENDED: dict[str, tuple[list[str], list[str]]] = {
    "no request": (writes_for(), asked()),
    "no request of the second attempt": (writes_for(tries=1), asked(2)),
    "no request, but its template": (writes_for(request_template(WORKLOAD_UID)), asked()[1:]),
    "a request with its template": (writes_for(request(), request_template(f"uid-{REQUEST}")), []),
    "a request without its template": (writes_for(request()), asked()[:1]),
    "its template is being deleted": (
        writes_for(request(), request_template(f"uid-{REQUEST}", **LEAVING)),
        [],
    ),
    "its template belongs to a former request": (
        writes_for(request(), request_template("uid-former")),
        deleted()[:1],
    ),
    "its template has no owner": (writes_for(request(), request_template("")), deleted()[:1]),
    "it is of other pod sets, without templates": (writes_for(OTHER_PODS), deleted()[1:]),
    "it is of other pod sets, and one template is missing": (
        writes_for(OTHER_PODS, request_template(f"uid-{REQUEST}")),
        deleted()[1:],
    ),
    "it is of other pod sets, but all templates are there": (
        writes_for(
            OTHER_PODS,
            request_template(f"uid-{REQUEST}"),
            request_template(f"uid-{REQUEST}", name=f"ppt-{REQUEST}-other"),
        ),
        [],
    ),
    "no request, and its template is being deleted": (
        writes_for(request_template(WORKLOAD_UID, **LEAVING)),
        [],
    ),
    "no request, and its template belongs to a former one": (
        writes_for(request_template("uid-former")),
        deleted()[:1],
    ),
    "it differs from the config": (writes_for(OUT_OF_DATE), deleted()),
    "one of that name is being deleted": (writes_for(request(**LEAVING)), []),
    "it failed, and the check was reset": (writes_for(request("Failed"), tries=1), asked(2)),
    "a booking expired, and the check was reset": (writes_for(request("BookingExpired"), tries=1), asked(2)),
    "it failed, and the check asks for the retry": (writes_for(request("Failed"), check="Retry"), []),
    "one of an earlier attempt": (
        writes_for(
            request("Failed"),
            request(name=numbered(2)),
            request_template(f"uid-{numbered(2)}", f"ppt-{numbered(2)}-gpu"),
            tries=1,
        ),
        deleted(),
    ),
    "the check is ready": (writes_for(check="Ready"), []),
    "its template belongs to the Workload": (
        writes_for(request(), request_template(WORKLOAD_UID)),
        [f"patch PodTemplate ppt-{REQUEST}-gpu"],
    ),
    "its template belongs to it": (writes_for(request(), request_template(f"uid-{REQUEST}")), []),
}


@pytest.mark.parametrize("name", TENDED)
def test_writes_that_a_workload_needs_for_its_requests(name: str) -> None:
    actual, expected = TENDED[name]
    assert actual == expected


def test_a_recreated_template_belongs_to_the_request() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    (ask,) = provisioning_requests.repairs(gang, cluster_of(request()))
    (ask_templates,) = ask.templates
    assert isinstance(ask_templates, Create)
    (owner,) = ask_templates.body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ProvisioningRequest", f"uid-{REQUEST}")
    assert ask_templates.body["template"]["spec"]["containers"] == WORKER["spec"]["containers"]


def test_annotations_do_not_override_the_administrators_parameters() -> None:
    """A tenant's annotations only add parameters."""
    asked = {f"provreq.kueue.x-k8s.io/{name}": "9" for name in ("maxRunDurationSeconds", "note")}
    body = ray_job("dev")
    body["metadata"]["annotations"] |= asked
    gang = workload(body, "QuotaReserved", check="Pending")
    (config,) = local_stack()[kinds.PROVISIONING_CONFIGS]
    config["spec"]["parameters"] = {"maxRunDurationSeconds": "600"}
    (ask,) = provisioning_requests.missing(gang, make_cluster({kinds.PROVISIONING_CONFIGS: [config]}))
    assert ask.request is not None
    assert ask.request.body["spec"]["parameters"] == {"maxRunDurationSeconds": "600", "note": "9"}


def test_contents_of_a_request_and_its_template() -> None:
    body = ray_job("dev")
    body["metadata"]["annotations"]["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "600"
    gang = workload(body, "QuotaReserved", check="Pending", tries=1)
    (ask,) = provisioning_requests.missing(gang, make_cluster())
    assert ask.request is not None
    name = numbered(2)
    assert (ask.check, ask.request.body["metadata"]["name"]) == (CHECK, name)
    assert ask.request.body["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    (reference,) = ask.request.body["metadata"]["ownerReferences"]
    assert reference == {
        "apiVersion": kinds.WORKLOADS.api_version,
        "kind": "Workload",
        "name": gang.metadata.name,
        "uid": gang.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert ask.request.body["spec"] == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "parameters": {"maxRunDurationSeconds": "600"},
        "podSets": [{"podTemplateRef": {"name": f"ppt-{name}-gpu"}, "count": 4}],
    }
    (ask_templates,) = ask.templates
    assert isinstance(ask_templates, Create)
    assert ask_templates.kind is kinds.POD_TEMPLATES
    assert ask_templates.body["metadata"]["ownerReferences"][0]["kind"] == "Workload"
    assert ask_templates.body["template"]["metadata"] == {}
    spec: dict[str, Any] = ask_templates.body["template"]["spec"]
    assert spec["containers"] == WORKER["spec"]["containers"]
    assert spec["nodeSelector"] == {"cloud.google.com/gke-nodepool": "l4"}
    assert len(spec["tolerations"]) == 2


def test_missing_requests_default_to_limits() -> None:
    worker = template("worker", cpu=2, gpu=1)
    worker["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "4", "memory": "1Gi"}
    gang = workload(ray_job("dev", worker=worker), "QuotaReserved", check="Pending")
    (ask,) = provisioning_requests.missing(gang, make_cluster())
    (ask_templates,) = ask.templates
    assert isinstance(ask_templates, Create)
    (container,) = ask_templates.body["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "2", "nvidia.com/gpu": "1", "memory": "1Gi"}


def test_the_overhead_of_a_runtime_class_is_in_the_template() -> None:
    worker = template("worker", cpu=2, gpu=1)
    worker["spec"]["runtimeClassName"] = "gvisor"
    gang = workload(ray_job("dev", worker=worker), "QuotaReserved", check="Pending")
    for overhead in ({}, {"cpu": "250m"}):
        cluster = make_cluster({kinds.RUNTIME_CLASSES: [runtime_class("gvisor", **overhead)]})
        (ask,) = provisioning_requests.missing(gang, cluster)
        (ask_templates,) = ask.templates
        assert isinstance(ask_templates, Create)
        assert ask_templates.body["template"]["spec"].get("overhead", {}) == overhead


def test_a_template_is_handed_over_to_its_request() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    (write,) = provisioning_requests.owner_transfers(
        gang, cluster_of(request(), request_template(WORKLOAD_UID))
    )
    assert isinstance(write, MergePatch)
    (owner,) = write.body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "ProvisioningRequest",
        f"uid-{REQUEST}",
        True,
    )


def test_unused_requests_are_deleted_with_their_templates() -> None:
    gang = workload(ray_job("dev"))
    cluster = cluster_of(request(), request(name=f"{REQUEST}0", **LEAVING))
    writes = [str(w).replace("team-a/", "") for w in provisioning_requests.unused(gang, cluster)]
    assert writes == deleted()


def test_a_refused_request_is_reported_on_its_check() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    (_, planned) = sync_provisioning_requests(gang, make_cluster(), NOW_MS)
    assert isinstance(planned.write, Create)
    assert [n.message for n in planned.events] == [f'Created ProvisioningRequest: "{REQUEST}"']
    assert planned.on_refusal is not None
    instead = planned.on_refusal("no such class")
    message = f'Error creating ProvisioningRequest "{REQUEST}": no such class'
    assert isinstance(instead.write, MergePatch)
    assert instead.write.status
    (check,) = instead.write.body["status"]["admissionChecks"]
    assert (check["state"], check["message"]) == ("Pending", message)
    assert [(n.reason, n.message, n.warning) for n in instead.events] == [("FailedCreate", message, True)]


def test_an_admission_without_its_pod_set_deactivates_the_workload() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    assert gang.status.admission is not None
    replace = msgspec.structs.replace
    empty = replace(gang.status.admission, pod_set_assignments=())
    gang = replace(gang, status=replace(gang.status, admission=empty))
    (planned,) = sync_provisioning_requests(gang, make_cluster(), NOW_MS)
    assert [n.reason for n in planned.events] == ["FailedToStart"]
    assert isinstance(planned.write, MergePatch)
    assert planned.write.status, "conditions are in the status"


def pod_set(name: str, base: Body = WORKER, **spec: Any) -> PodSet:
    body = deepcopy(base)
    body["spec"] |= spec
    return PodSet(name=name, count=2, template=encode_template(body))


PLAIN = pod_set("a")
WRITTEN_OTHERWISE = deepcopy(WORKER)
WRITTEN_OTHERWISE["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2000m"
WRITTEN_OTHERWISE["spec"]["nodeSelector"] = {}
FIRST_NEEDS = template("worker", cpu=1)
FIRST_NEEDS["spec"]["initContainers"] = [{"name": "load", "resources": {"requests": {"cpu": "7"}}}]
ODD = template("worker", cpu="much")
ODD["spec"]["initContainers"] = [{"name": "none"}]


def limited_worker() -> Body:
    body = deepcopy(WORKER)
    body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "9"}
    return body


# (the other pod set, whether it merges with PLAIN by template, and by resources)
PAIRS: dict[str, tuple[PodSet, bool, bool]] = {
    "equal": (pod_set("b"), True, True),
    "equal, written otherwise": (pod_set("b", WRITTEN_OTHERWISE), True, True),
    "another priority": (pod_set("b", priorityClassName="high"), False, True),
    "another selector": (pod_set("b", nodeSelector={"disk": "ssd"}), False, False),
    "other tolerations": (pod_set("b", tolerations=[{"key": "spot", "operator": "Exists"}]), False, False),
    "other requests": (pod_set("b", template("worker", cpu=1)), False, False),
    "another affinity": (pod_set("b", affinity={"nodeAffinity": {}, "podAffinity": {"x": 1}}), False, False),
    "resources of the pod": (pod_set("b", resources={"requests": {"cpu": "3"}}), False, False),
    "claims of devices": (pod_set("b", resourceClaims=[{"name": "gpu"}]), False, False),
    "other limits": (pod_set("b", limited_worker()), False, True),
    "a label": (pod_set("b", {**WORKER, "metadata": {"labels": {"a": "b"}}}), False, True),
    "an init container more": (pod_set("b", FIRST_NEEDS), False, False),
    "no quantity": (pod_set("b", ODD), False, False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pod_sets_with_equal_pods_are_merged(name: str) -> None:
    other, by_template, by_needs = PAIRS[name]
    counts = {"a": 2, "b": 3}
    sizes: Mapping[str | None, list[int]] = {
        policy: [g.count for g in grouped(counts, [PLAIN, other], policy)]
        for policy in (None, "IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
    }
    assert sizes == {
        None: [2, 3],
        "IdenticalPodTemplates": [5] if by_template else [2, 3],
        "IdenticalWorkloadSchedulingRequirements": [5] if by_needs else [2, 3],
    }


def test_all_merged_pod_sets_get_the_updates() -> None:
    cluster = make_cluster({kinds.PROVISIONING_REQUESTS: [request("Provisioned")]})
    (config,) = cluster.provisioning_configs.values()
    merging = msgspec.structs.replace(config.spec, pod_set_merge_policy="IdenticalPodTemplates")
    spec = ray_job("dev")
    groups = spec["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    groups.append({**groups[0], "groupName": "more"})
    gang = workload(spec, "QuotaReserved", check="Pending")
    cluster.provisioning_configs = {CHECK: msgspec.structs.replace(config, spec=merging)}
    (check,) = provisioning_checks.sync_checks(gang, gang.status, cluster, NOW_MS).admission_checks
    assert [u.name for u in check.pod_set_updates] == ["gpu", "more"]


KEPT = Configuration(cleans_up_requests=False)  # CleanupProvisioningRequestsOnEviction=false
CLEANUPS: dict[str, tuple[Configuration, tuple[str, ...], list[str]]] = {
    "an evicted gang": (DEFAULT, ("Evicted",), deleted()),
    "an evicted gang, without the gate": (KEPT, ("Evicted",), []),
    "a finished gang": (DEFAULT, ("Finished",), deleted()),
    "a finished gang, without the gate": (KEPT, ("Finished",), deleted()),
}


@pytest.mark.parametrize("name", CLEANUPS)
def test_requests_of_a_gang_without_quota(name: str) -> None:
    """Source: Kueue provisioning/controller_test.go ("request preserved … when cleanup is disabled")."""
    configuration, conditions, writes = CLEANUPS[name]
    body = ray_job("dev")
    gang = workload(body, *conditions, check="Pending")
    cluster = make_cluster(
        {
            kinds.RAY_JOBS: [body],
            kinds.PROVISIONING_REQUESTS: [request()],
            kinds.POD_TEMPLATES: [request_template(f"uid-{REQUEST}")],
        }
    )
    planned = (str(s.write).replace("team-a/", "") for s in job_writes(gang, cluster, NOW_MS, configuration))
    assert [write for write in planned if REQUEST in write] == writes
