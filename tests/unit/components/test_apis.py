"""The Google Cloud APIs that a stack enables."""

from pathlib import Path
from typing import Any

import pytest

from components.foundation.apis import ALWAYS
from preview.plan_properties import short_kind
from settings.load import load
from settings.model.foundation.cluster import Gke
from tests.unit.components.harness import Declarations, declare_platform, declare_stack
from tests.unit.settings.builders import EXISTING, GOOD, put
from tools.docs.deploying_roles import NEEDS

STACKS = sorted((Path(__file__).parents[3] / "stacks").glob("Pulumi.*.yaml"))
SECURE = ("binaryauthorization", "containersecurity")
KEY = "projects/{}/locations/us-west1/keyRings/ray/cryptoKeys/etcd"
VERSION = f"{KEY.format('acme-keys')}/cryptoKeyVersions/1"
PEM = f"-----BEGIN PUBLIC KEY-----\nMFkw{'A' * 120}\n-----END PUBLIC KEY-----\n"
SERVING = {"hosts": {"models.example.com": "qwen"}, "iap": {"members": ["domain:example.com"]}}


def in_cluster(**keys: Any) -> dict[str, Any]:
    return put("muster:cluster", {**GOOD["muster:cluster"], **keys})


# Case -> the stack, and the APIs that it enables in addition to those of every stack.
FEATURES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "the defaults": (GOOD, SECURE),
    "neither Binary Authorization nor the security posture": (
        in_cluster(binaryAuthorization=False, securityPosture=False),
        (),
    ),
    "Secrets encrypted with a key of the project": (
        in_cluster(secretsEncryption=KEY.format("acme-ml")),
        (*SECURE, "cloudkms"),
    ),
    "Secrets encrypted with another project's key": (
        in_cluster(secretsEncryption=KEY.format("acme-keys")),
        SECURE,
    ),
    "notifications": (
        in_cluster(notifications="projects/acme-ml/topics/upgrades"),
        (*SECURE, "pubsub"),
    ),
    "boot disks encrypted with a key of the project": (
        in_cluster(bootDiskKmsKey=KEY.format("acme-ml")),
        (*SECURE, "cloudkms"),
    ),
    "boot disks of a pool encrypted with a key of the project": (
        put("muster:pools", 0, "bootDisk", {"kmsKey": KEY.format("acme-ml")}),
        (*SECURE, "cloudkms"),
    ),
    "backups": (in_cluster(backup={}), (*SECURE, "gkebackup")),
    "backups encrypted with a key of the project": (
        in_cluster(backup={"kmsKey": KEY.format("acme-ml")}),
        (*SECURE, "cloudkms", "gkebackup"),
    ),
    "backups encrypted with another project's key": (
        in_cluster(backup={"kmsKey": KEY.format("acme-keys")}),
        (*SECURE, "gkebackup"),
    ),
    "a fleet": (in_cluster(fleet="acme-ml"), (*SECURE, "gkehub")),
    "an image that is built": (put("muster:controller", {"build": {}}), (*SECURE, "artifactregistry")),
    "an image that is signed": (
        put("muster:controller", {"build": {"signature": {"key": VERSION, "publicKey": PEM}}}),
        (*SECURE, "artifactregistry", "cloudkms", "containeranalysis"),
    ),
    "a journal": (
        put("muster:controller", "journal", {"bucket": "acme-ml-journal"}),
        (*SECURE, "storage"),
    ),
    "an archive of logs": (put("muster:observability", {}), (*SECURE, "storage")),
    "logs without an archive": (
        put("muster:observability", {"logs": {"archiveDays": None}}),
        SECURE,
    ),
    "a tenant's identity": (
        put("muster:tenants", 0, "identity", {}),
        (*SECURE, "iamcredentials"),
    ),
    "a tenant's secrets": (
        put("muster:cluster", {**GOOD["muster:cluster"], "secretManager": {}})
        | {"muster:tenants": [{**GOOD["muster:tenants"][0], "identity": {}, "secrets": [{"name": "hf"}]}]},
        (*SECURE, "iamcredentials", "secretmanager"),
    ),
    "a tenant's services": (
        put("muster:tenants", 0, "serving", SERVING),
        (*SECURE, "certificatemanager", "iap"),
    ),
    "an existing cluster": ({**GOOD, "muster:cluster": EXISTING}, ()),
    "switched off": (in_cluster(enableApis=False), ()),
}


def enabled(declared: Declarations) -> set[str]:
    return {
        str(resource.inputs["service"]).removesuffix(".googleapis.com")
        for resource in declared.values()
        if resource.type == "gcp:projects/service:Service"
    }


@pytest.mark.parametrize(("config", "apis"), FEATURES.values(), ids=FEATURES.keys())
def test_features_enable_their_apis(config: dict[str, Any], apis: tuple[str, ...]) -> None:
    enabled_apis = enabled(declare_platform(config))

    assert enabled_apis == ({*ALWAYS, *apis} if enabled_apis or apis else set())


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_apis_of_all_declared_resources_are_enabled(file: Path) -> None:
    settings = load(file)
    declared = declare_stack(file)
    google = {resource.type for resource in declared.values() if resource.type.startswith("gcp:")}
    # Services are enabled by Service Usage, which must be there before.
    needed = {NEEDS[short_kind(token)].api.removesuffix(".googleapis.com") for token in google}

    assert needed - {"serviceusage"} <= enabled(declared)
    assert bool(google) is isinstance(settings.cluster, Gke)


def test_apis_stay_enabled_when_the_stack_is_destroyed() -> None:
    assert declare_platform(GOOD).inputs("Service/container") == {
        "service": "container.googleapis.com",
        "project": "acme-ml",
        "disableOnDestroy": False,
    }


EVERYTHING = put("muster:controller", {"build": {}}) | {"muster:network": {"name": "ray"}}


def test_every_google_resource_depends_on_the_apis() -> None:
    declared = declare_platform(EVERYTHING)
    apis = {name for name in declared if declared[name].type == "gcp:projects/service:Service"}
    others = {n for n, r in declared.items() if r.type.startswith("gcp:")} - apis

    assert {name for name in others if not declared[name].depends_on >= apis} == set()
    assert {"Cluster/ray", "NodePool/l4", "Network/ray", "Account/nodes", "Repository/ray-muster"} <= others
