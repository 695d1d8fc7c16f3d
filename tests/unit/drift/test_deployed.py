"""The exported state of a stack, as declared objects."""

from typing import Any

import pytest

from drift.deployed import Declared, Deployed, read_state
from preview.resources.values import Secret
from tools.toolchain.steps import StepError

PROVIDER = "urn:pulumi:s::p::pulumi:providers:kubernetes::k"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def resource(token: str, inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:s::p::{token}::{fields.get('name', 'a')}"
    outputs = {"__fieldManager": "pulumi-kubernetes-1"}
    common = {"urn": urn, "type": token, "custom": True, "provider": f"{PROVIDER}::1", "inputs": inputs}
    return {**common, "outputs": outputs, **fields}


def state(*resources: dict[str, Any]) -> Deployed:
    provider = {"urn": PROVIDER, "type": "pulumi:providers:kubernetes", "custom": True}
    return read_state({"deployment": {"resources": [{**provider, "inputs": {"context": "c"}}, *resources]}})


MAP = "kubernetes:core/v1:ConfigMap"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_objects_are_read_with_their_manager_and_provider() -> None:
    deployed = state(resource(MAP, {**CONFIG_MAP, "__defaults": []}))
    urn = f"urn:pulumi:s::p::{MAP}::a"
    assert deployed.objects == (Declared(urn, MAP, CONFIG_MAP, "pulumi-kubernetes-1", PROVIDER),)
    assert deployed.providers == {PROVIDER: {"context": "c"}}


def test_an_imported_object_is_applied_as_pulumi() -> None:
    (deployed,) = state(resource(MAP, CONFIG_MAP, outputs={})).objects
    assert deployed.manager == "pulumi-kubernetes"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(resource("gcp:storage/bucket:Bucket", {"name": "a"}), id="cloud resource"),
        pytest.param(resource("muster:platform:Queues", {}, custom=False), id="component"),
        pytest.param(resource("kubernetes:core/v1:ConfigMapPatch", CONFIG_MAP), id="part of an object"),
        pytest.param(resource(MAP, CONFIG_MAP, delete=True), id="about to be deleted"),
    ],
)
def test_other_resources_are_not_compared(other: dict[str, Any]) -> None:
    assert state(other).objects == ()


def test_helm_releases_are_named() -> None:
    release = resource(
        "kubernetes:helm.sh/v3:Release", {}, outputs={"name": "kueue", "namespace": "kueue-system"}
    )
    assert state(release).releases == {("kueue-system", "kueue")}


def test_secrets_are_decrypted_or_refused() -> None:
    (deployed,) = state(resource(MAP, {**CONFIG_MAP, "data": {**SECRET, "plaintext": '{"a": "b"}'}})).objects
    assert deployed.manifest["data"] == Secret({"a": "b"})
    with pytest.raises(StepError, match="encrypted"):
        state(resource(MAP, {**CONFIG_MAP, "data": {**SECRET, "ciphertext": "v1:…"}}))
