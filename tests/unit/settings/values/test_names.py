"""Stacks with a name that Google Cloud refuses, and with credentials."""

from typing import Any

import pytest

from tests.unit.settings.builders import GOOD, L4, Case, put, refusal


def tenant(**keys: Any) -> dict[str, Any]:
    return put("muster:tenants", 0, {**GOOD["muster:tenants"][0], **keys})


def with_cluster(**keys: Any) -> dict[str, Any]:
    return put("muster:cluster", {**GOOD["muster:cluster"], **keys})


def tenant_on_gke(**keys: Any) -> dict[str, Any]:
    secured = with_cluster(securityGroup="gke-security-groups@example.com")
    return secured | {"muster:tenants": [{**GOOD["muster:tenants"][0], **keys}]}


def with_bucket(location: str) -> dict[str, Any]:
    return tenant(identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "location": location})


def with_oauth_client(id: str) -> dict[str, Any]:
    iap = {"members": ["group:ml@example.com"], "oauthClient": {"id": id, "secretName": "oauth"}}
    return tenant(serving={"hosts": {"models.example.com": "vllm"}, "iap": iap})


LABEL_KEY = (
    "a label key of Google Cloud: 1 to 63 of a-z, 0-9, '_' and '-', from a letter on, and not with goog, the "
    "prefix of Google's own (Resource Manager)"
)
CASES = [
    Case(
        "a version of GKE that does not exist",
        with_cluster(version="9.99"),
        "muster:cluster.version",
        '"9.99"',
        "a version of Kubernetes 1, such as 1.36",
        "check it against `gcloud container get-server-config`",
    ),
    Case(
        "a project by its display name",
        put("gcp:project", "Acme ML"),
        "gcp:project",
        '"Acme ML"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a project in capitals",
        put("gcp:project", "Acme-ML"),
        "gcp:project",
        '"Acme-ML"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a project by its number",
        put("gcp:project", "123456789012"),
        "gcp:project",
        '"123456789012"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a project ID of five characters",
        put("gcp:project", "acme1"),
        "gcp:project",
        '"acme1"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a project ID that ends in a dash",
        put("gcp:project", "acme-ml-"),
        "gcp:project",
        '"acme-ml-"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a label key in capitals",
        with_cluster(labels={"Team": "ml"}),
        "muster:cluster.labels.Team",
        '"Team"',
        LABEL_KEY,
        "rename it",
    ),
    Case(
        "a label key with a slash",
        with_cluster(labels={"acme.com/team": "ml"}),
        'muster:cluster.labels["acme.com/team"]',
        '"acme.com/team"',
        LABEL_KEY,
        "rename it",
    ),
    Case(
        "a label of Google's own",
        with_cluster(labels={"goog-gke-node": "ml"}),
        "muster:cluster.labels.goog-gke-node",
        '"goog-gke-node"',
        LABEL_KEY,
        "rename it",
    ),
    Case(
        "a label value in capitals",
        with_cluster(labels={"team": "ML"}),
        "muster:cluster.labels.team",
        '"ML"',
        "a label value of Google Cloud: up to 63 of a-z, 0-9, '_' and '-' (Resource Manager)",
        "write it in lower case, with '-' or '_' for other characters",
    ),
    Case(
        "a label value with a blank",
        with_cluster(labels={"team": "machine learning"}),
        "muster:cluster.labels.team",
        '"machine learning"',
        "a label value of Google Cloud: up to 63 of a-z, 0-9, '_' and '-' (Resource Manager)",
        "write it in lower case, with '-' or '_' for other characters",
    ),
    Case(
        "a label value of 64 characters",
        with_cluster(labels={"team": "m" * 64}),
        "muster:cluster.labels.team",
        '"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"',
        "a label value of Google Cloud: up to 63 of a-z, 0-9, '_' and '-' (Resource Manager)",
        "write it in lower case, with '-' or '_' for other characters",
    ),
    Case(
        "a label key that begins with a digit",
        with_cluster(labels={"2team": "ml"}),
        "muster:cluster.labels.2team",
        '"2team"',
        LABEL_KEY,
        "rename it",
    ),
    Case(
        "a token in a label",
        with_cluster(labels={"git": "ghp_" + "a1b2" * 9}),
        "muster:cluster.labels.git",
        '"[secret]"',
        "no credential: stack files are in version control, and labels are visible to all readers of "
        "the project",
        "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
    ),
    Case(
        "a key of an API under its name",
        with_cluster(labels={"wandb-api-key": "abc"}),
        "muster:cluster.labels.wandb-api-key",
        '"abc"',
        "no credential: stack files are in version control, and labels are visible to all readers of "
        "the project",
        "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
    ),
    Case(
        "random letters in a label",
        with_cluster(labels={"run": "0123456789abcdef" * 2}),
        "muster:cluster.labels.run",
        '"0123456789abcdef0123456789abcdef"',
        "no credential: stack files are in version control, and labels are visible to all readers of "
        "the project",
        "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
    ),
    Case(
        "a token in a label of a pool",
        put(*L4, "labels", {"hub": "hf_" + "aBcD" * 8}),
        "muster:pools[1].labels.hub",
        '"[secret]"',
        "no credential: stack files are in version control, and labels are visible to all readers of "
        "the project",
        "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
    ),
    Case(
        "a key of AWS in a label of a pool",
        put(*L4, "labels", {"bucket": "AKIAIOSFODNN7EXAMPLE"}),
        "muster:pools[1].labels.bucket",
        '"[secret]"',
        "no credential: stack files are in version control, and labels are visible to all readers of "
        "the project",
        "remove it, revoke the credential, and keep its successor in a Secret or in Secret Manager",
    ),
    Case(
        "a region misspelt",
        with_cluster(location="us-wst1"),
        "muster:cluster.location",
        '"us-wst1"',
        "a region of Google Cloud, or a zone in one; settings/model/regions.py lists them",
        "did you mean us-west1?",
    ),
    Case(
        "a zone of a region misspelt",
        with_cluster(location="us-wst1-b"),
        "muster:cluster.location",
        '"us-wst1-b"',
        "a zone of Google Cloud; settings/model/regions.py lists the regions",
        "did you mean us-west1-b?",
    ),
    Case(
        "a zone that the region does not have",
        with_cluster(location="us-west1-d"),
        "muster:cluster.location",
        '"us-west1-d"',
        "a zone of us-west1: us-west1-a, us-west1-b, us-west1-c (Compute Engine, regions and zones)",
        "choose one of them",
    ),
    Case(
        "a network with a blank",
        with_cluster(network="my net"),
        "muster:cluster.network",
        '"my net"',
        "the name of a network, or its path (GKE API: Cluster.network)",
        "write NAME, or projects/PROJECT/global/networks/NAME for a network of another project",
    ),
    Case(
        "a network by an incomplete path",
        with_cluster(network="projects/acme-ml/networks/ray"),
        "muster:cluster.network",
        '"projects/acme-ml/networks/ray"',
        "the name of a network, or its path (GKE API: Cluster.network)",
        "write NAME, or projects/PROJECT/global/networks/NAME for a network of another project",
    ),
    Case(
        "a network by its URL",
        with_cluster(network="https://www.googleapis.com/compute/v1/projects/acme-ml/global/networks/ray"),
        "muster:cluster.network",
        '"https://www.googleapis.com/compute/v1/projects/acme-ml/global/networks/ray"',
        "the name of a network, or its path (GKE API: Cluster.network)",
        "write NAME, or projects/PROJECT/global/networks/NAME for a network of another project",
    ),
    Case(
        "a subnet by an incomplete path",
        with_cluster(network="ray", subnetwork="us-west1/ray"),
        "muster:cluster.subnetwork",
        '"us-west1/ray"',
        "the name of a subnet, or its path (GKE API: Cluster.subnetwork)",
        "write NAME, or projects/PROJECT/regions/REGION/subnetworks/NAME for one of another project",
    ),
    Case(
        "a subnet without its network",
        with_cluster(subnetwork="ray"),
        "muster:cluster.subnetwork",
        '"ray"',
        "a subnet of `network`, which is not set (GKE API: Cluster.network)",
        "add `network`, or remove `subnetwork`",
    ),
    Case(
        "a subnet in another region",
        with_cluster(network="ray", subnetwork="projects/acme-ml/regions/us-east1/subnetworks/ray"),
        "muster:cluster.subnetwork",
        '"projects/acme-ml/regions/us-east1/subnetworks/ray"',
        "a subnet in us-west1, where the cluster is (GKE API: Cluster.subnetwork)",
        "choose one there",
    ),
    Case(
        "a fleet by its display name",
        with_cluster(fleet="Acme Fleet"),
        "muster:cluster.fleet",
        '"Acme Fleet"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a fleet by its path",
        with_cluster(fleet="projects/acme-ml/locations/global/fleets/default"),
        "muster:cluster.fleet",
        '"projects/acme-ml/locations/global/fleets/default"',
        "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource Manager)",
        "write the ID, not the project's name or number; `gcloud projects list` prints it",
    ),
    Case(
        "a key of KMS in a project with a blank",
        with_cluster(secretsEncryption="projects/acme ml/locations/us-west1/keyRings/gke/cryptoKeys/secrets"),
        "muster:cluster.secretsEncryption",
        '"projects/acme ml/locations/us-west1/keyRings/gke/cryptoKeys/secrets"',
        "the full name of a Cloud KMS key",
        "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
    ),
    Case(
        "an accelerator of node auto-provisioning misspelt",
        with_cluster(
            nodeAutoProvisioning={
                "cpu": {"max": 99},
                "memory": {"max": 999},
                "accelerators": {
                    "nvidia-l44": {"max": 16},
                },
            },
        ),
        "muster:cluster.nodeAutoProvisioning.accelerators.nvidia-l44",
        '{"max": 16}',
        "GKE's name of an accelerator: nvidia-a100-80gb, nvidia-b200, nvidia-gb200, nvidia-gb300, "
        "nvidia-h100-80gb, "
        "nvidia-h100-mega-80gb, nvidia-h200-141gb, nvidia-l4, nvidia-rtx-pro-6000, "
        "nvidia-tesla-a100, nvidia-tesla-t4, nvidia-tesla-v100, tpu-v5-lite-podslice, tpu-v5p-slice, "
        "tpu-v6e-slice, tpu7x (GKE, node auto-provisioning)",
        "did you mean nvidia-l4?",
    ),
    Case(
        "a team by a name instead of an address",
        tenant_on_gke(group="team-a"),
        "muster:tenants[0].group",
        '"team-a"',
        "the e-mail address of a Google group (GKE, Google Groups for RBAC)",
        "write the full address, such as team-a@example.com",
    ),
    Case(
        "a bucket in an unknown region",
        with_bucket("us-centrall1"),
        "muster:tenants[0].checkpoints.location",
        '"us-centrall1"',
        "a region, or one of asia, eu, us, asia1, eur4, eur5, eur7, eur8, nam4 (Cloud Storage, "
        "bucket locations)",
        "did you mean us-central1?",
    ),
    Case(
        "a bucket in a continent",
        with_bucket("europe"),
        "muster:tenants[0].checkpoints.location",
        '"europe"',
        "a region, or one of asia, eu, us, asia1, eur4, eur5, eur7, eur8, nam4 (Cloud Storage, "
        "bucket locations)",
        "did you mean eu?",
    ),
    Case(
        "a bucket in a zone",
        with_bucket("us-west1-b"),
        "muster:tenants[0].checkpoints.location",
        '"us-west1-b"',
        "a region, or one of asia, eu, us, asia1, eur4, eur5, eur7, eur8, nam4 (Cloud Storage, "
        "bucket locations)",
        "did you mean us-west1?",
    ),
    Case(
        "an OAuth client by its name",
        with_oauth_client("my client"),
        "muster:tenants[0].serving.iap.oauthClient.id",
        '"my client"',
        "the ID of an OAuth client",
        "copy it from its credentials: ….apps.googleusercontent.com",
    ),
    Case(
        "a controller of a check without a path",
        put("muster:queues", "checks", [{"name": "budget", "controller": "budget"}]),
        "muster:queues.checks[0].controller",
        '"budget"',
        "the name of a controller: a domain, '/' and a path, up to 253 characters (Kueue: "
        "AdmissionCheckSpec.controllerName)",
        "write it as its controller expects it, such as example.com/budget",
    ),
    Case(
        "a kind of parameters in lower case",
        put(
            "muster:queues",
            "checks",
            [
                {
                    "name": "budget",
                    "controller": "acme.example/budget",
                    "parameters": {"apiGroup": "acme.example", "kind": "budget", "name": "gpus"},
                }
            ],
        ),
        "muster:queues.checks[0].parameters.kind",
        '"budget"',
        "a kind of the API, in CamelCase, up to 63 characters",
        "write it as in its manifests, such as Budget",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistaken_names_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message
