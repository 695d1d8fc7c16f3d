"""The Kubernetes stand-in against a dictionary for an API server: refusals, waits, what is asked of it."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from pulumi.runtime.proto import provider_pb2 as pb

from preview.plugins import kubernetes_writes as writes
from preview.plugins.kubernetes_api import ApiError, ApiServer, UnknownKindError, UnreachableError
from preview.plugins.kubernetes_provider import HELM_RELEASE, KubernetesProvider
from preview.plugins.serving import RefusedError
from preview.plugins.values import UNKNOWN, from_struct, to_struct

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


class Server:
    """Objects by name; `error` is what the next apply answers."""

    url = "https://server"
    take_over = False

    def __init__(self, *objects: dict[str, Any], error: Exception | None = None) -> None:
        self.objects = {item["metadata"]["name"]: item for item in objects}
        self.error = error
        self.forced: list[bool] = []

    def resource(self, api_version: str, kind: str) -> None:
        """Every kind is served."""

    def get(self, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.objects.get(wanted["metadata"]["name"])

    def apply(
        self, wanted: dict[str, Any], manager: str, *, dry_run: bool = False, force: bool = False
    ) -> dict[str, Any]:
        if self.error:
            raise self.error
        self.forced.append(force)
        managed = [{"manager": manager, "operation": "Apply"}]
        live = {**wanted, "metadata": {**wanted["metadata"], "uid": "u", "managedFields": managed}}
        if not dry_run:
            self.objects[wanted["metadata"]["name"]] = live
        return live

    def delete(self, wanted: Mapping[str, Any]) -> None:
        if self.objects.pop(wanted["metadata"]["name"], None) is None:
            raise ApiError(404, "NotFound", "gone")


def provider(server: Server | None) -> KubernetesProvider:
    made = KubernetesProvider()
    made._api = cast(ApiServer, server)
    return made


def create(
    server: Server | None, inputs: Mapping[str, Any] = NAMESPACE, *, preview: bool = False
) -> pb.CreateResponse:
    kind = inputs.get("kind", "Release")
    properties = to_struct(inputs)
    request = pb.CreateRequest(type=f"kubernetes:core/v1:{kind}", properties=properties, preview=preview)
    return provider(server).Create(request, None)


def test_what_is_created_has_its_name_for_an_id_and_the_live_object_for_state() -> None:
    response = create(Server())
    assert response.id == "team"
    assert from_struct(response.properties)["metadata"] == {"name": "team", "uid": "u"}


def test_what_somebody_else_made_is_not_taken_over() -> None:
    with pytest.raises(RefusedError, match=r"Namespace team: it exists already.*pulumi import"):
        create(Server(NAMESPACE))


def test_what_a_creation_that_was_cut_off_left_behind_is_taken_over() -> None:
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
def test_what_the_server_says_reaches_the_user(error: Exception, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        create(Server(error=error))


@pytest.mark.parametrize(
    ("server", "inputs"),
    [
        pytest.param(None, NAMESPACE, id="no cluster"),
        pytest.param(Server(error=UnreachableError("down")), NAMESPACE, id="unreachable"),
        pytest.param(Server(error=UnknownKindError("no CRD")), NAMESPACE, id="CRD not there yet"),
        pytest.param(Server(error=ApiError(404, "NotFound", "ns")), NAMESPACE, id="namespace not there yet"),
        pytest.param(Server(NAMESPACE), NAMESPACE, id="about to be replaced"),
        pytest.param(Server(), {**NAMESPACE, "spec": UNKNOWN}, id="unknown values"),
        pytest.param(Server(), {"chart": "kuberay"}, id="Helm release"),
    ],
)
def test_where_the_server_cannot_be_asked_a_preview_shows_the_inputs(
    server: Server | None, inputs: dict[str, Any]
) -> None:
    assert from_struct(create(server, inputs, preview=True).properties) == inputs


def test_a_preview_shows_what_the_server_would_store_and_makes_nothing() -> None:
    server = Server()
    properties = from_struct(create(server, preview=True).properties)
    assert properties["metadata"] == {"name": "team"}  # no uid: the real one will be another
    assert server.objects == {}


def test_a_preview_tells_what_the_server_would_refuse() -> None:
    with pytest.raises(RefusedError, match="cannot preview Namespace team: 422 Invalid: wrong"):
        create(Server(error=ApiError(422, "Invalid", "wrong")), preview=True)


def test_fields_of_others_are_only_taken_where_that_is_asked_for() -> None:
    asked = {"name": "asked", "annotations": {writes.PATCH_FORCE: "true"}}
    server = Server()
    create(server)
    create(server, {**NAMESPACE, "metadata": asked})
    server.take_over = True
    create(server, {**NAMESPACE, "metadata": {"name": "by the provider"}})
    assert server.forced == [False, True, True]


def test_deleting_what_is_gone_is_fine() -> None:
    request = pb.DeleteRequest(
        type="kubernetes:core/v1:Namespace", id="team", properties=to_struct(NAMESPACE)
    )
    provider(Server()).Delete(request, None)


def test_what_will_not_go_is_told_with_what_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {**NAMESPACE, "metadata": {"name": "team", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}}
    server = Server(held)
    monkeypatch.setattr(server, "delete", lambda wanted: None)
    with pytest.raises(RefusedError, match=r"held by finalizers kueue\.x-k8s\.io/resource-in-use"):
        writes.delete(cast(ApiServer, server), NAMESPACE, seconds_max=0)


def test_reading_what_is_gone_answers_nothing() -> None:
    request = pb.ReadRequest(type="kubernetes:core/v1:Namespace", id="team", properties=to_struct(NAMESPACE))
    assert provider(Server()).Read(request, None) == pb.ReadResponse()


def test_an_import_takes_the_live_object_for_inputs() -> None:
    live = {**NAMESPACE, "status": {"phase": "Active"}}
    request = pb.ReadRequest(type="kubernetes:core/v1:Namespace", id="team")
    assert from_struct(provider(Server(live)).Read(request, None).inputs) == NAMESPACE


@pytest.mark.parametrize("kind", ["NamespacePatch", "NamespaceList"])
def test_patches_and_lists_are_refused(kind: str) -> None:
    request = pb.CheckRequest(type=f"kubernetes:core/v1:{kind}", name="x", news=to_struct(NAMESPACE))
    with pytest.raises(RefusedError, match="no Patch and no List"):
        provider(Server()).Check(request, None)


def test_charts_and_components_are_refused_where_they_would_have_to_be_made() -> None:
    with pytest.raises(RefusedError, match=r"helm\.sh/v3:Release 'kuberay'.*pulumi plugin install"):
        provider(Server()).Create(pb.CreateRequest(type=HELM_RELEASE, name="kuberay"), None)
    with pytest.raises(RefusedError, match=r"ConfigGroup 'crds'.*pulumi plugin install"):
        provider(Server()).Construct(
            pb.ConstructRequest(type="kubernetes:yaml/v2:ConfigGroup", name="crds"), None
        )


def test_without_a_cluster_nothing_is_made() -> None:
    unconfigured = KubernetesProvider()
    unconfigured.Configure(pb.ConfigureRequest(args=to_struct({"kubeconfig": "/nowhere"})), None)
    with pytest.raises(RefusedError, match=r"/nowhere does not exist.*Set KUBECONFIG"):
        unconfigured.Create(pb.CreateRequest(properties=to_struct(NAMESPACE)), None)
