"""The Kubernetes stand-in with a dictionary as the API server: refusals, waits, previews."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from preview.plugins.kubernetes_provider import HELM_RELEASE, KubernetesProvider
from preview.plugins.structs import from_struct, to_struct
from preview.resources import kubernetes_writes as writes
from preview.resources.refusals import RefusedError
from preview.resources.values import UNKNOWN
from tools.kubernetes import ApiError, ApiServer, UnknownKindError, UnreachableError

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


class Server:
    """An API server with objects by name; `error` is raised by the next apply."""

    url = "https://server"
    take_over = False

    def __init__(self, *objects: dict[str, Any], error: Exception | None = None) -> None:
        self.objects = {item["metadata"]["name"]: item for item in objects}
        self.error = error
        self.forced: list[bool] = []

    def resource(self, api_version: str, kind: str) -> None:
        """Every kind is served."""

    def get(self, target: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.objects.get(target["metadata"]["name"])

    def apply(
        self, target: dict[str, Any], manager: str, *, dry_run: bool = False, force: bool = False
    ) -> dict[str, Any]:
        if self.error:
            raise self.error
        self.forced.append(force)
        managed = [{"manager": manager, "operation": "Apply"}]
        live = {**target, "metadata": {**target["metadata"], "uid": "u", "managedFields": managed}}
        if not dry_run:
            self.objects[target["metadata"]["name"]] = live
        return live

    def delete(self, target: Mapping[str, Any]) -> None:
        if self.objects.pop(target["metadata"]["name"], None) is None:
            raise ApiError(404, "NotFound", "gone")


def provider(server: Server | None) -> KubernetesProvider:
    configured = KubernetesProvider()
    configured._api = cast(ApiServer, server)
    return configured


def create(
    server: Server | None, inputs: Mapping[str, Any] = NAMESPACE, *, preview: bool = False
) -> pb.CreateResponse:
    kind = inputs.get("kind", "Release")
    properties = to_struct(inputs)
    request = pb.CreateRequest(type=f"kubernetes:core/v1:{kind}", properties=properties, preview=preview)
    return provider(server).Create(request, None)


def test_created_object_has_its_name_as_id_and_the_live_object_as_state() -> None:
    response = create(Server())
    assert response.id == "team"
    assert from_struct(response.properties)["metadata"] == {"name": "team", "uid": "u"}


def test_object_that_others_created_is_not_adopted() -> None:
    with pytest.raises(RefusedError, match=r"Namespace team: it already exists.*pulumi import"):
        create(Server(NAMESPACE))


def test_object_of_an_interrupted_run_is_adopted() -> None:
    server = Server()
    create(server)
    assert create(server).id == "team"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            ApiError(422, "Invalid", "spec.cpu: lots"),
            "cannot create Namespace team: 422 Invalid: spec",
        ),
        (ApiError(409, "Conflict", "kubectl owns it"), "409 Conflict: kubectl owns it.*patchForce"),
        (
            UnreachableError("no answer from https://server"),
            "no answer from https://server; is the cluster running",
        ),
        (UnknownKindError("https://server serves no kind"), "install its CRD first"),
    ],
    ids=["invalid", "conflict", "unreachable", "unknown kind"],
)
def test_errors_of_the_server_reach_the_user(error: Exception, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        create(Server(error=error))


@pytest.mark.parametrize(
    ("server", "inputs"),
    [
        pytest.param(None, NAMESPACE, id="no cluster"),
        pytest.param(Server(error=UnreachableError("down")), NAMESPACE, id="unreachable"),
        pytest.param(Server(error=UnknownKindError("no CRD")), NAMESPACE, id="CRD not installed yet"),
        pytest.param(
            Server(error=ApiError(404, "NotFound", "ns")), NAMESPACE, id="namespace does not exist yet"
        ),
        pytest.param(Server(NAMESPACE), NAMESPACE, id="about to be replaced"),
        pytest.param(Server(), {**NAMESPACE, "spec": UNKNOWN}, id="unknown values"),
        pytest.param(Server(), {"chart": "kuberay"}, id="Helm release"),
    ],
)
def test_preview_shows_the_inputs_if_the_server_cannot_be_asked(
    server: Server | None, inputs: dict[str, Any]
) -> None:
    assert from_struct(create(server, inputs, preview=True).properties) == inputs


def test_preview_shows_what_the_server_would_store_and_creates_nothing() -> None:
    server = Server()
    properties = from_struct(create(server, preview=True).properties)
    assert properties["metadata"] == {"name": "team"}  # no uid: the real one will differ
    assert server.objects == {}


def test_preview_fails_if_the_server_would_refuse_the_object() -> None:
    with pytest.raises(RefusedError, match="cannot preview Namespace team: 422 Invalid: wrong"):
        create(Server(error=ApiError(422, "Invalid", "wrong")), preview=True)


def test_fields_of_others_are_taken_over_only_by_annotation_or_provider() -> None:
    asked = {"name": "asked", "annotations": {writes.PATCH_FORCE: "true"}}
    server = Server()
    create(server)
    create(server, {**NAMESPACE, "metadata": asked})
    server.take_over = True
    create(server, {**NAMESPACE, "metadata": {"name": "by the provider"}})
    assert server.forced == [False, True, True]


def test_deleting_a_missing_object_succeeds() -> None:
    request = pb.DeleteRequest(
        type="kubernetes:core/v1:Namespace", id="team", properties=to_struct(NAMESPACE)
    )
    provider(Server()).Delete(request, None)


def test_error_of_a_blocked_deletion_names_the_finalizers(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {**NAMESPACE, "metadata": {"name": "team", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}}
    server = Server(held)
    monkeypatch.setattr(server, "delete", lambda expected: None)
    with pytest.raises(RefusedError, match=r"held by finalizers kueue\.x-k8s\.io/resource-in-use"):
        writes.delete(cast(ApiServer, server), NAMESPACE, seconds_max=0)


def test_reading_a_missing_object_returns_an_empty_response() -> None:
    request = pb.ReadRequest(type="kubernetes:core/v1:Namespace", id="team", properties=to_struct(NAMESPACE))
    assert provider(Server()).Read(request, None) == pb.ReadResponse()


def test_import_returns_the_live_object_as_inputs() -> None:
    live = {**NAMESPACE, "status": {"phase": "Active"}}
    request = pb.ReadRequest(type="kubernetes:core/v1:Namespace", id="team")
    assert from_struct(provider(Server(live)).Read(request, None).inputs) == NAMESPACE


@pytest.mark.parametrize("kind", ["NamespacePatch", "NamespaceList"])
def test_patches_and_lists_are_refused(kind: str) -> None:
    request = pb.CheckRequest(type=f"kubernetes:core/v1:{kind}", name="x", news=to_struct(NAMESPACE))
    with pytest.raises(RefusedError, match="not Patch or List"):
        provider(Server()).Check(request, None)


def test_charts_and_components_are_refused_outside_of_previews() -> None:
    with pytest.raises(RefusedError, match=r"helm\.sh/v3:Release 'kuberay'.*pulumi plugin install"):
        provider(Server()).Create(pb.CreateRequest(type=HELM_RELEASE, name="kuberay"), None)
    with pytest.raises(RefusedError, match=r"ConfigGroup 'crds'.*pulumi plugin install"):
        provider(Server()).Construct(
            pb.ConstructRequest(type="kubernetes:yaml/v2:ConfigGroup", name="crds"), None
        )


def test_creation_without_a_cluster_is_refused() -> None:
    unconfigured = KubernetesProvider()
    unconfigured.Configure(pb.ConfigureRequest(args=to_struct({"kubeconfig": "/nowhere"})), None)
    with pytest.raises(RefusedError, match=r"/nowhere does not exist.*Set KUBECONFIG"):
        unconfigured.Create(pb.CreateRequest(properties=to_struct(NAMESPACE)), None)
