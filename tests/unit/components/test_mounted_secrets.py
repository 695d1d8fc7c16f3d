"""A tenant's secrets of Secret Manager: the access to them, and the files that its pods mount."""

import json
from typing import Any

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD, put

EMAIL = "ray-team-a-ray-167271@acme-ml.iam.gserviceaccount.com"
SECRETS: list[dict[str, Any]] = [
    {"name": "hf-token"},
    {"name": "wandb", "version": 2, "file": "wandb.key"},
    {"name": "wandb", "file": "wandb-next.key"},
]
CLASS = "SecretProviderClass/team-a/secrets"


def stack(secrets: list[dict[str, Any]], *, with_policies: bool = False, **identity: str) -> Declarations:
    config = put("muster:cluster", {**GOOD["muster:cluster"], "secretManager": {}})
    tenant = {**GOOD["muster:tenants"][0], "identity": identity, "secrets": secrets}
    return declare_platform({**config, "muster:tenants": [tenant]}, with_policies=with_policies)


def test_the_identity_may_read_these_secrets_only() -> None:
    declared = stack(SECRETS)
    grants = declared.kinds("SecretIamMember")
    assert grants == ["SecretIamMember/team-a-hf-token", "SecretIamMember/team-a-wandb"]
    for name, secret in zip(grants, ("hf-token", "wandb"), strict=True):
        assert declared.inputs(name) == {
            "project": "acme-ml",
            "secretId": secret,
            "role": "roles/secretmanager.secretAccessor",
            "member": f"serviceAccount:{EMAIL}",
        }
        assert declared[name].provider == "gcp/google"


def test_the_class_names_a_version_and_a_file_for_each_secret() -> None:
    declared = stack(SECRETS)
    inputs = declared.inputs(CLASS)
    assert inputs["apiVersion"] == "secrets-store.csi.x-k8s.io/v1"
    assert inputs["metadata"] == {"name": "secrets", "namespace": "team-a"}
    assert inputs["spec"]["provider"] == "gke"
    assert set(inputs["spec"]) == {"provider", "parameters"}  # no copy in a Secret (secretObjects)
    assert json.loads(inputs["spec"]["parameters"]["secrets"]) == [
        {"resourceName": "projects/acme-ml/secrets/hf-token/versions/latest", "path": "hf-token"},
        {"resourceName": "projects/acme-ml/secrets/wandb/versions/2", "path": "wandb.key"},
        {"resourceName": "projects/acme-ml/secrets/wandb/versions/latest", "path": "wandb-next.key"},
    ]


ELSEWHERE: list[dict[str, Any]] = [
    {"name": "projects/acme-shared/secrets/hf-token"},
    {"name": "projects/acme-ml/locations/us-west1/secrets/wandb", "version": 2},
    {"name": "projects/acme-ml/secrets/npm"},
    {"name": "npm", "file": "npm-again"},
]


def test_secrets_of_other_projects_and_regions_are_named_by_their_path() -> None:
    declared = stack(ELSEWHERE)
    shared = declared.inputs("SecretIamMember/team-a-projects-acme-shared-secrets-hf-token")
    assert (shared["project"], shared["secretId"]) == ("acme-shared", "hf-token")
    (regional,) = map(declared.inputs, declared.kinds("RegionalSecretIamMember"))
    assert regional == {
        "project": "acme-ml",
        "location": "us-west1",
        "secretId": "wandb",
        "role": "roles/secretmanager.secretAccessor",
        "member": f"serviceAccount:{EMAIL}",
    }
    assert json.loads(declared.inputs(CLASS)["spec"]["parameters"]["secrets"]) == [
        {"resourceName": "projects/acme-shared/secrets/hf-token/versions/latest", "path": "hf-token"},
        {"resourceName": "projects/acme-ml/locations/us-west1/secrets/wandb/versions/2", "path": "wandb"},
        {"resourceName": "projects/acme-ml/secrets/npm/versions/latest", "path": "npm"},
        {"resourceName": "projects/acme-ml/secrets/npm/versions/latest", "path": "npm-again"},
    ]


def test_one_secret_has_one_grant_by_its_id_and_by_its_path() -> None:
    assert len(stack(ELSEWHERE).kinds("SecretIamMember")) == 2


def test_pods_keep_the_access_until_their_namespace_is_deleted() -> None:
    declared = stack(SECRETS)
    grants = {"SecretIamMember/team-a-hf-token", "SecretIamMember/team-a-wandb"}
    assert declared["Namespace/team-a"].depends_on >= grants
    assert declared[CLASS].depends_on >= {"Namespace/team-a", *grants}


def test_the_stack_neither_declares_nor_reads_a_value() -> None:
    declared = stack(SECRETS)
    assert declared.kinds("Secret", "SecretVersion") == []


def test_the_namespace_names_the_account_that_mounts_them() -> None:
    labels = stack(SECRETS, serviceAccount="trainer").inputs("Namespace/team-a")["metadata"]["labels"]
    assert labels["muster.dev/secrets"] == "trainer"


def test_a_tenant_without_secrets_has_none_of_it() -> None:
    declared = stack([], with_policies=True)
    assert not declared.kinds("SecretIamMember", "SecretProviderClass")
    assert "muster.dev/secrets" not in declared.inputs("Namespace/team-a")["metadata"]["labels"]
    assert not [name for name in declared.kinds("ValidatingAdmissionPolicy") if "secrets" in name]


def test_volumes_of_secrets_have_policies_where_tenants_have_secrets() -> None:
    policies = stack(SECRETS, with_policies=True).kinds("ValidatingAdmissionPolicy")
    assert {name.partition("/")[2] for name in policies if "secrets" in name} == {
        f"muster-{kind}-mount-own-secrets"
        for kind in (
            "rayjobs",
            "raycronjobs",
            "rayclusters",
            "rayservices",
            "jobs",
            "jobsets",
            "leaderworkersets",
        )
    }
