"""The signature on the controller's image, and the policy that requires it."""

import os
import stat
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.controller.signature import sign, signing_command
from components.foundation.image_policy import operator_patterns
from settings.load import parse
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.components.signing_keys import KEY, PEM
from tests.unit.settings.builders import FILE, put

DIGEST = f"sha256:{'0' * 64}"
ATTESTED = {
    "image": f"us-west1-docker.pkg.dev/acme-ml/ray-muster/controller:0123abcd@{DIGEST}",
    "attestor": "projects/acme-ml/attestors/ray-muster",
    "key": KEY,
}
DEPLOYMENTS = ("Deployment/muster-controller", "Deployment/muster-page")


def signed(**signature: Any) -> dict[str, Any]:
    build = {"signature": {"key": KEY, "publicKey": PEM, **signature}}
    return put("muster:controller", {"build": build, "page": {}})


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform(signed(required={"otherImages": ["docker.io/rayproject/**"]}))


def test_the_attestor_verifies_with_the_keys_public_half(declared: Declarations) -> None:
    note, attestor = declared["Note/image-attestations"], declared["Attestor/image-attestor"]

    assert attestor.inputs["attestationAuthorityNote"] == {
        "noteReference": "ray-muster",
        "publicKeys": [
            {
                "id": f"//cloudkms.googleapis.com/v1/{KEY}",
                "pkixPublicKey": {"publicKeyPem": PEM, "signatureAlgorithm": "ECDSA_P256_SHA256"},
            }
        ],
    }
    assert note.inputs["name"] == attestor.inputs["name"] == "ray-muster"
    assert (note.provider, attestor.provider) == ("gcp/google", "gcp/google")


def test_both_deployments_wait_for_the_signature(declared: Declarations) -> None:
    record = declared["Stash/signed-image"]

    assert record.inputs["input"]["key"] == KEY
    assert "Image/controller" in record.depends_on
    assert "Attestor/image-attestor" in record.depends_on
    assert [name for name in DEPLOYMENTS if "Stash/signed-image" not in declared[name].depends_on] == []


def test_the_policy_requires_the_attestor_in_this_cluster_only(declared: Declarations) -> None:
    policy = declared["Policy/image-policy"].inputs

    assert policy["clusterAdmissionRules"] == [
        {
            "cluster": "us-west1-b.ray",
            "evaluationMode": "REQUIRE_ATTESTATION",
            "enforcementMode": "ENFORCED_BLOCK_AND_AUDIT_LOG",
            "requireAttestationsBies": ["projects/acme-ml/attestors/ray-muster"],
        }
    ]
    assert policy["defaultAdmissionRule"]["evaluationMode"] == "ALWAYS_ALLOW"
    assert policy["globalPolicyEvaluationMode"] == "ENABLE"
    assert [pattern["namePattern"] for pattern in policy["admissionWhitelistPatterns"]] == [
        "quay.io/kuberay/operator*",
        "docker.io/rayproject/**",
    ]


def test_enforcement_begins_after_the_signed_controller_is_deployed(declared: Declarations) -> None:
    assert "Deployment/muster-controller" in declared["Policy/image-policy"].depends_on


@pytest.mark.parametrize(
    ("build", "kinds"),
    [
        ({}, []),
        (
            {"signature": {"key": KEY, "publicKey": PEM}},
            ["Attestor/image-attestor", "Note/image-attestations"],
        ),
    ],
    ids=["no signature", "a signature that nothing requires"],
)
def test_a_stack_that_requires_none_leaves_the_projects_policy(
    build: dict[str, Any], kinds: list[str]
) -> None:
    declared = declare_platform(put("muster:controller", {"build": build}))

    assert declared.kinds("Note", "Attestor", "Policy") == kinds


@pytest.mark.parametrize(
    ("key", "value", "patterns"),
    [
        ("muster:kuberay", {"install": "existing"}, []),
        ("muster:kuberay", {"image": "mirror.example/kuberay:v1.6.2"}, ["mirror.example/kuberay*"]),
        (
            "muster:jobset",
            {"install": "helm"},
            ["quay.io/kuberay/operator*", "registry.k8s.io/jobset/jobset*"],
        ),
        ("muster:lws", {"install": "helm"}, ["quay.io/kuberay/operator*", "registry.k8s.io/lws/lws*"]),
    ],
    ids=[
        "an operator that is there already",
        "an operator from a mirror",
        "the JobSet controller",
        "the LeaderWorkerSet controller",
    ],
)
def test_the_stacks_own_operators_run(key: str, value: dict[str, Any], patterns: list[str]) -> None:
    assert list(operator_patterns(parse(put(key, value), FILE))) == patterns


def test_gcloud_signs_the_digest_with_the_version_of_the_key() -> None:
    assert signing_command(ATTESTED) == [
        *("gcloud", "beta", "container", "binauthz", "attestations", "sign-and-create", "--quiet"),
        "--project=acme-ml",
        f"--artifact-url=us-west1-docker.pkg.dev/acme-ml/ray-muster/controller@{DIGEST}",
        "--attestor=ray-muster",
        "--attestor-project=acme-ml",
        f"--keyversion={KEY}",
    ]


def gcloud(folder: Path, script: str) -> None:
    """Puts a command `gcloud` into the folder."""
    file = folder / "gcloud"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def call() -> None:
    arguments = pulumi.ResourceHookArgs("urn", "", "signed-image", "Stash", new_inputs={"input": ATTESTED})
    sign(arguments)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "gcloud components install beta"),
        ("echo PERMISSION_DENIED: asymmetricSign >&2; exit 1", "not deployed: PERMISSION_DENIED"),
    ],
    ids=["no gcloud", "a refusal"],
)
def test_a_failed_signature_is_an_error(
    script: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if script:
        gcloud(tmp_path, script)

    with pytest.raises(pulumi.RunError, match=message):
        call()


def test_an_attestation_that_exists_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    gcloud(tmp_path, "echo ALREADY_EXISTS: occurrence >&2; exit 1")

    call()
