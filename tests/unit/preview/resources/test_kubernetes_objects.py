"""Names, replacement, state and drift of Kubernetes objects, without a cluster."""

from typing import Any

import pytest

from preview.resources import kubernetes_objects as objects
from preview.resources.differences import differences, property_path
from preview.resources.refusals import RefusedError
from preview.resources.values import Secret

SEED = bytes.fromhex("0123456789abcdef")


def manifest(kind: str = "ConfigMap", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, **fields}


def test_given_name_is_kept() -> None:
    assert objects.named(manifest(), {}, "resource", SEED) == manifest()


def test_missing_name_is_generated_from_the_resource_and_marked() -> None:
    named = objects.named({"kind": "ConfigMap", "metadata": {"namespace": "ns"}}, {}, "config", SEED)
    annotations = {"pulumi.com/autonamed": "true"}
    expected = {"name": "config-01234567", "namespace": "ns", "annotations": annotations}
    assert named["metadata"] == expected


def test_automatic_name_stays_the_same() -> None:
    first = objects.named({"kind": "ConfigMap"}, {}, "config", SEED)
    again = objects.named({"kind": "ConfigMap"}, first, "config", b"another!")
    assert again == first


def test_previous_given_name_is_not_reused_as_an_automatic_name() -> None:
    again = objects.named({"kind": "ConfigMap"}, manifest(), "config", SEED)
    assert again["metadata"]["name"] == "config-01234567"


def test_generate_name_is_refused_with_what_to_do() -> None:
    with pytest.raises(RefusedError, match=r"generateName.*set metadata\.name"):
        objects.named({"kind": "Job", "metadata": {"generateName": "job-"}}, {}, "job", SEED)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(manifest(), manifest(metadata={"name": "two"}), {"metadata.name"}, id="name"),
        pytest.param(
            manifest(),
            manifest(metadata={"name": "one", "namespace": "n"}),
            {"metadata.namespace"},
            id="namespace",
        ),
        pytest.param(
            manifest(metadata={"name": "one", "labels": {"a": "1"}}),
            manifest(metadata={"name": "one", "labels": {"a": "2"}}),
            set(),
            id="label",
        ),
        pytest.param(manifest(data={"a": "1"}), manifest(data={"a": "2"}), {"data.a"}, id="ConfigMap data"),
        pytest.param(
            manifest("Role", "rbac.authorization.k8s.io/v1", rules=[]),
            manifest("Role", "rbac.authorization.k8s.io/v1", rules=[{}]),
            set(),
            id="rules change in place",
        ),
        pytest.param(
            manifest("RoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "a"}),
            manifest("RoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "b"}),
            {"roleRef.name"},
            id="roleRef",
        ),
        pytest.param(
            manifest("Job", "batch.volcano.sh/v1alpha1", spec={"template": 1}),
            manifest("Job", "batch.volcano.sh/v1alpha1", spec={"template": 2}),
            set(),
            id="a custom resource of the same kind",
        ),
        pytest.param(
            manifest("Queue", "x.io/v1beta1"), manifest("Queue", "x.io/v1beta2"), set(), id="another version"
        ),
    ],
)
def test_immutable_fields_require_a_new_object(
    old: dict[str, Any], new: dict[str, Any], expected: set[str]
) -> None:
    changed = dict(differences(old, new))
    assert {property_path(path) for path in objects.replacing(old, changed)} == expected


def test_only_an_object_of_the_same_name_is_deleted_first() -> None:
    changed_in_place = manifest(data={"a": "2"})
    renamed = manifest(metadata={"name": "two"})
    assert objects.same_address(manifest(), changed_in_place)
    assert not objects.same_address(manifest(), renamed)


@pytest.mark.parametrize(
    ("inputs", "applied", "live", "expected"),
    [
        pytest.param({"cpu": "1000m"}, {"cpu": "1"}, {"cpu": "1"}, {"cpu": "1000m"}, id="another notation"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, id="defaults of the server"),
        pytest.param({"a": 1, "c": 1}, {"a": 1, "c": 1}, {"a": 1, "c": 5}, {"a": 1, "c": 5}, id="edited"),
        pytest.param({"a": 1, "c": 1}, {"a": 1, "c": 1}, {"a": 1}, {"a": 1}, id="deleted by hand"),
        pytest.param({"a": [1, 2]}, {"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3]}, id="in a list"),
        pytest.param({"a": [1]}, {"a": [1]}, {"a": [1, 3]}, {"a": [1, 3]}, id="list grew"),
        pytest.param(
            {"a": Secret("x")}, {"a": "x"}, {"a": "y"}, {"a": Secret("y")}, id="a secret stays secret"
        ),
    ],
)
def test_drift_replaces_only_inputs_that_others_changed(
    inputs: Any, applied: Any, live: Any, expected: Any
) -> None:
    assert objects.drifted(inputs, applied, live) == expected


@pytest.mark.parametrize(
    ("token", "resource_id", "expected"),
    [
        ("kubernetes:core/v1:Pod", "ns/a", ("v1", "Pod", {"name": "a", "namespace": "ns"})),
        ("kubernetes:core/v1:Namespace", "a", ("v1", "Namespace", {"name": "a"})),
        (
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "muster:a",
            ("rbac.authorization.k8s.io/v1", "ClusterRole", {"name": "muster:a"}),
        ),
    ],
)
def test_import_is_addressed_by_type_and_id(
    token: str, resource_id: str, expected: tuple[str, str, dict[str, str]]
) -> None:
    address = objects.address(token, resource_id, {})
    assert (address["apiVersion"], address["kind"], address["metadata"]) == expected


def test_state_of_a_secret_is_secret_and_has_no_managed_fields() -> None:
    live = manifest("Secret", data={"token": "eA=="})
    live["metadata"] |= {"uid": "u", "managedFields": [{}]}
    state = objects.state(live, {"kind": "Secret"}, "manager")
    assert state["data"] == Secret({"token": "eA=="})
    assert state["metadata"] == {"name": "one", "uid": "u"}
    assert state["__inputs"] == {"kind": "Secret"}


def test_import_has_all_fields_that_a_user_can_set() -> None:
    live = manifest(data={"a": "1"}, status={"phase": "x"})
    live["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    assert objects.imported(live) == manifest(data={"a": "1"})
