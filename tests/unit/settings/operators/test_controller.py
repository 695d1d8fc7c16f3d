"""Settings of Muster's controller: an existing image, or a build."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, put, refusal

IMAGE = "registry.example/muster/controller:0.1.0"
CASES = [
    Case(
        "neither an image nor a build",
        put("muster:controller", {"replicas": 2}),
        "muster:controller",
        '{"replicas": 2}',
        "either image or build",
        "set `image`, or write `build: {}` to build it from this checkout",
    ),
    Case(
        "an image and a build",
        put("muster:controller", {"image": IMAGE, "build": {}}),
        "muster:controller",
        f'{{"image": "{IMAGE}", "build": {{}}}}',
        "either image or build",
        "set `image`, or write `build: {}` to build it from this checkout",
    ),
    Case(
        "no replicas",
        put("muster:controller", {"image": IMAGE, "replicas": 0}),
        "muster:controller.replicas",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "no image kept",
        put("muster:controller", {"build": {"keepImages": 0}}),
        "muster:controller.build.keepImages",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "a notice of more than an hour",
        put("muster:admission", "elastic", {"noticeSeconds": 3601}),
        "muster:admission.elastic.noticeSeconds",
        "3601",
        "3600 or less",
        "lower it",
    ),
    Case(
        "a notice with engine kueue",
        put("muster:admission", {"engine": "kueue", "elastic": {"noticeSeconds": 60}}),
        "muster:admission.elastic",
        '{"noticeSeconds": 60}',
        "no value: engine kueue preempts workers without a notice",
        "remove it, or choose engine: muster",
    ),
]

KEY = "projects/acme-keys/locations/us-west1/keyRings/images/cryptoKeys/muster"
PEM = f"-----BEGIN PUBLIC KEY-----\nMFkw{'A' * 120}\n-----END PUBLIC KEY-----\n"
OWN = "us-west1-docker.pkg.dev/acme-ml/ray-muster/controller"
EXEMPTING = (
    OWN,
    f"{OWN}*",
    f"{OWN}:1.0",
    f"{OWN}:1*",
    OWN.replace("controller", "*"),
    "us-west1-docker.pkg.dev/**",
)
SIGNATURE = {"key": f"{KEY}/cryptoKeyVersions/1", "publicKey": PEM}


def signature(**changes: Any) -> dict[str, Any]:
    return put("muster:controller", {"build": {"signature": {**SIGNATURE, **changes}}})


def not_checked() -> dict[str, Any]:
    """Returns a stack whose cluster does not ask Binary Authorization about its images."""
    config = signature(required={})
    config["muster:cluster"]["binaryAuthorization"] = False
    return config


CASES += [
    Case(
        "a key without its version",
        signature(key=KEY),
        "muster:controller.build.signature.key",
        f'"{KEY}"',
        "the full name of a version of a Cloud KMS key",
        "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY/cryptoKeyVersions/1",
    ),
    Case(
        "a public key that is not PEM",
        signature(publicKey="MFkwEwYHKoZIzj0CAQYI"),
        "muster:controller.build.signature.publicKey",
        '"MFkwEwYHKoZIzj0CAQYI"',
        "a public key in PEM, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----",
        "write what `gcloud kms keys versions get-public-key VERSION` prints, as a block (`|`)",
    ),
    Case(
        "a PEM that contains no key",
        signature(publicKey="-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"),
        "muster:controller.build.signature.publicKey",
        '"-----BEGIN PUBLIC KEY-----\\nAAAA\\n-----END PUBLIC KEY-----"',
        "a public key in PEM, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----",
        "write what `gcloud kms keys versions get-public-key VERSION` prints, as a block (`|`)",
    ),
    Case(
        "every image is allowed",
        signature(required={"otherImages": ["**"]}),
        "muster:controller.build.signature.required.otherImages[0]",
        '"**"',
        "a registry and a path, which may end in `*` or `**` (Binary Authorization)",
        "write for example docker.io/rayproject/**",
    ),
    *(
        Case(
            f"the controller's image is exempt by {pattern}",
            signature(required={"otherImages": ["docker.io/rayproject/**", pattern]}),
            "muster:controller.build.signature.required.otherImages[1]",
            f'"{pattern}"',
            f"a pattern that does not match the controller's image, {OWN}, which it would exempt",
            "write a longer path",
        )
        for pattern in EXEMPTING
    ),
    Case(
        "signatures are required of a cluster that does not check them",
        not_checked(),
        "muster:controller.build.signature.required",
        "{}",
        "no value: the cluster does not ask Binary Authorization",
        "write `binaryAuthorization: true` in muster:cluster, or remove `required`",
    ),
]


@pytest.mark.parametrize(
    "pattern",
    [
        "us-west1-docker.pkg.dev/*",
        "us-west1-docker.pkg.dev/acme-ml/ray/**",
        "docker.io/rayproject/ray:2.52.0",
    ],
)
def test_patterns_of_other_images_are_accepted(pattern: str) -> None:
    parse(signature(required={"otherImages": [pattern]}), FILE)


ON_GKE: dict[str, Any] = GOOD["muster:cluster"]
BUCKET = "acme-ml-journal"


def journal(cluster: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {**GOOD, "muster:cluster": cluster, "muster:controller": {"image": IMAGE, "journal": settings}}


CASES += [
    Case(
        "two buckets of a journal",
        journal(ON_GKE, bucket=BUCKET, existingBucket="acme-logs"),
        "muster:controller.journal",
        f'{{"bucket": "{BUCKET}", "existingBucket": "acme-logs"}}',
        "either bucket or existingBucket",
        "remove `existingBucket` if the stack creates the bucket, else `bucket`",
    ),
    Case(
        "a lifecycle of a bucket that exists",
        journal(ON_GKE, existingBucket=BUCKET, deleteAfterDays=30),
        "muster:controller.journal",
        f'{{"existingBucket": "{BUCKET}", "deleteAfterDays": 30}}',
        "no deleteAfterDays without `bucket`: only the stack's own bucket gets a lifecycle rule",
        "remove it, or set the rule where the bucket is declared",
    ),
    Case(
        "a journal without a bucket on GKE",
        journal(ON_GKE),
        "muster:controller.journal",
        "{}",
        "either bucket or existingBucket: a folder of the pod would be lost with it",
        "name a bucket, which the stack creates, such as `journal: {bucket: acme-journal}`",
    ),
    Case(
        "a journal in a bucket without its driver",
        journal({**ON_GKE, "csiDrivers": ["persistent-disk"]}, existingBucket=BUCKET),
        "muster:controller.journal",
        f'{{"existingBucket": "{BUCKET}"}}',
        "no value: the cluster's csiDrivers do not include gcs-fuse, which mounts buckets",
        "add gcs-fuse to muster:cluster.csiDrivers, or remove `journal`",
    ),
    *[
        Case(
            f"a journal in {key} of another cluster",
            journal(EXISTING, **{key: BUCKET}),
            f"muster:controller.journal.{key}",
            f'"{BUCKET}"',
            "no value: it needs Google Cloud, and this cluster is not known to be there",
            "write `journal: {}`, or say in muster:cluster.gke where the cluster is",
        )
        for key in ("bucket", "existingBucket")
    ],
]


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(journal(ON_GKE, bucket=BUCKET, deleteAfterDays=None), id="created-and-kept-forever"),
        pytest.param(journal(ON_GKE, existingBucket=BUCKET), id="existing"),
        pytest.param(journal(EXISTING), id="a-folder-of-the-pod"),
    ],
)
def test_journal_is_where_the_cluster_can_keep_it(config: dict[str, Any]) -> None:
    settings = parse(config, FILE)
    assert settings.controller is not None
    assert settings.controller.journal is not None


def test_journal_has_a_bucket_of_its_own() -> None:
    config = journal(ON_GKE, bucket=BUCKET)
    tenant = {**GOOD["muster:tenants"][0], "identity": {}, "checkpoints": {"bucket": BUCKET}}
    assert f"{BUCKET} is already in use" in refusal({**config, "muster:tenants": [tenant]})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_controller_is_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)
    assert str(refused.value) == case.message


def test_image_is_not_built_for_an_existing_cluster() -> None:
    config: dict[str, Any] = {**GOOD, "muster:cluster": EXISTING, "muster:controller": {"build": {}}}
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    assert (
        str(refused.value)
        == Case(
            "a build for an existing cluster",
            config,
            "muster:controller.build",
            "{}",
            "a GKE cluster: the stack creates the image's registry in its project and region",
            "build and push the image yourself, and write `image: repository@sha256:…`",
        ).message
    )


@pytest.mark.parametrize("controller", [{"image": IMAGE}, {"build": {}}])
def test_valid_controller_has_two_replicas(controller: dict[str, Any]) -> None:
    settings = parse(put("muster:controller", controller), FILE)
    assert settings.controller is not None
    assert settings.controller.replicas == 2
