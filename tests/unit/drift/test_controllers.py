"""Fields that controllers own are taken from the live object; all others are not."""

from typing import Any

import pytest

from drift.controllers import with_owned_fields

Object = dict[str, Any]


def expected(declared: Object, live: Object, kind: str = "Deployment", **metadata: Any) -> Object:
    """Returns what is expected of an object, without its identity."""
    manifest = {"kind": kind, "metadata": {"name": "a"}, **declared}
    server = {"resourceVersion": "7", **metadata}
    merged = with_owned_fields(manifest, {**live, "metadata": {**live.get("metadata", {}), **server}})
    assert merged.pop("kind") == kind
    assert merged["metadata"].pop("resourceVersion") == "7"
    merged["metadata"].pop("name", None)
    return merged


def annotated(**values: str) -> Object:
    return {"metadata": {"annotations": values}}


def managed(manager: str, fields: Object) -> list[Object]:
    return [{"manager": manager, "operation": "Update", "fieldsV1": fields}]


REVISION = "deployment.kubernetes.io/revision"
KUEUE, STRANGER = "kueue.x-k8s.io/resource-in-use", "example.com/never"
WEBHOOKS = {"webhooks": [{"name": "b"}, {"name": "a", "clientConfig": {"path": "/a"}}]}
LIVE_WEBHOOKS = {"webhooks": [{"name": "a", "clientConfig": {"caBundle": "live", "path": "/other"}}]}
CA: Object = {"f:webhooks": {'k:{"name":"a"}': {"f:clientConfig": {"f:caBundle": {}}}}}


@pytest.mark.parametrize(
    ("kind", "declared", "live", "expectation"),
    [
        pytest.param(
            "Namespace", {}, {"status": {"phase": "Active"}}, {"status": {"phase": "Active"}}, id="status"
        ),
        pytest.param(
            "Deployment", {}, annotated(**{REVISION: "3"}), annotated(**{REVISION: "3"}), id="annotation"
        ),
        pytest.param("Namespace", {}, annotated(**{REVISION: "3"}), {}, id="annotation of another kind"),
        pytest.param("Deployment", {}, annotated(tier="by-hand"), {}, id="annotation by hand"),
        pytest.param(
            "ClusterQueue",
            {},
            {"metadata": {"finalizers": [STRANGER, KUEUE]}},
            {"metadata": {"finalizers": [KUEUE]}},
            id="known finalizers only",
        ),
        pytest.param("Deployment", {"spec": {"replicas": 2}}, {"spec": {"replicas": 0}}, None, id="spec"),
        pytest.param("Cohort", {"spec": {}}, {"spec": {"parentName": "rich"}}, None, id="empty spec"),
    ],
)
def test_owned_fields_are_taken_from_the_live_object(
    kind: str, declared: Object, live: Object, expectation: Object | None
) -> None:
    assert expected(declared, live, kind) == {
        "metadata": {},
        **(declared if expectation is None else expectation),
    }


@pytest.mark.parametrize(
    ("manager", "bundle"),
    [
        pytest.param("kueue", {"caBundle": "live"}, id="written by the operator"),
        pytest.param("kubectl-edit", {}, id="written by hand"),
    ],
)
def test_certificate_is_taken_only_if_its_operator_wrote_it(manager: str, bundle: Object) -> None:
    merged = expected(
        WEBHOOKS, LIVE_WEBHOOKS, "ValidatingWebhookConfiguration", managedFields=managed(manager, CA)
    )
    assert merged["webhooks"] == [{"name": "b"}, {"name": "a", "clientConfig": {"path": "/a", **bundle}}]
