"""Names that stack files of one folder share."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from settings.neighbours import shared_names
from tests.unit.components.signing_keys import KEY, PEM
from tests.unit.settings.builders import EXISTING, GOOD, put

STACKS = sorted((Path(__file__).parents[4] / "stacks").glob("Pulumi.*.yaml"))
CLUSTER = GOOD["muster:cluster"]
OTHER = {**GOOD, "muster:cluster": {**CLUSTER, "name": "other"}}
ELSEWHERE = {**OTHER, "gcp:project": "acme-eu"}
NETWORK = {"muster:network": {"name": "vpc"}}
SUBNET = "projects/acme-network/regions/us-west1/subnetworks/ray"


def with_ranges(subnet: str, pods: str, services: str, **more: Any) -> dict[str, Any]:
    """Returns the cluster section of a cluster in an existing subnet."""
    named = {"network": "projects/acme-network/global/networks/shared", "subnetwork": subnet}
    return {"muster:cluster": {**CLUSTER, **named, "podsRange": pods, "servicesRange": services, **more}}


def with_tenant(**keys: Any) -> dict[str, Any]:
    """Returns what replaces the tenants of the valid stack."""
    return {"muster:tenants": [{**GOOD["muster:tenants"][0], **keys}]}


def with_domain(scope: str, domain: str, **more: Any) -> dict[str, Any]:
    """Returns the cluster section with Cloud DNS."""
    dns = {"provider": "cloud-dns", "scope": scope, "domain": domain}
    return {"muster:cluster": {**CLUSTER, "dns": dns, **more}}


def building(**build: Any) -> dict[str, Any]:
    return {"muster:controller": {"build": build}}


SIGNED = {"key": KEY, "publicKey": PEM, "required": {}}
BUCKET = with_tenant(checkpoints={"bucket": "acme-checkpoints"}, identity={})
ACCOUNT = with_tenant(identity={"account": "team-a-ray"})
HOST = with_tenant(
    serving={"hosts": {"models.example.com": "qwen"}, "iap": {"members": ["domain:example.com"]}}
)
JOURNAL = {"muster:controller": {**GOOD["muster:controller"], "journal": {"bucket": "acme-checkpoints"}}}


def in_folder(folder: Path, **configs: Any) -> Path:
    """Writes stack files by name; returns the first one's path."""
    paths = [folder / f"Pulumi.{name}.yaml" for name in configs]
    for path, config in zip(paths, configs.values(), strict=True):
        path.write_text(yaml.safe_dump({"config": config} if isinstance(config, dict) else config))
    return paths[0]


# Case -> two stack files, and what the first one is warned of: the path, the value and the resource.
SHARED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str, str]]] = {
    "a copied file": (
        GOOD,
        GOOD,
        ("muster:cluster.name", '"ray"', "cluster ray in us-west1-b of project acme-ml"),
    ),
    "a network": (
        {**GOOD, **NETWORK},
        {**OTHER, **NETWORK},
        ("muster:network.name", '"vpc"', "network vpc of project acme-ml"),
    ),
    "a bucket, also of another project": (
        {**GOOD, **BUCKET},
        {**ELSEWHERE, **JOURNAL},
        ("muster:tenants[0].checkpoints.bucket", '"acme-checkpoints"', "bucket acme-checkpoints"),
    ),
    "a service account": (
        {**GOOD, **ACCOUNT},
        {**OTHER, **ACCOUNT},
        (
            "muster:tenants[0].identity.account",
            '"team-a-ray"',
            "Google service account team-a-ray of project acme-ml",
        ),
    ),
    "a host": (
        {**GOOD, **HOST},
        {**ELSEWHERE, **HOST},
        ('muster:tenants[0].serving.hosts["models.example.com"]', '"qwen"', "host models.example.com"),
    ),
    "a range of a Shared VPC": (
        {**GOOD, **with_ranges(SUBNET, "ray-pods", "ray-services")},
        {
            **GOOD,
            "gcp:project": "acme-eu",
            **with_ranges(SUBNET, "more", "services", additionalPodsRanges=["ray-pods"]),
        },
        (
            "muster:cluster.podsRange",
            '"ray-pods"',
            "range ray-pods of subnet ray in us-west1 of project acme-network",
        ),
    ),
    "a registry": (
        {**GOOD, **building(repository="muster")},
        {**OTHER, **building(repository="muster")},
        (
            "muster:controller.build.repository",
            '"muster"',
            "repository muster in us-west1 of project acme-ml",
        ),
    ),
    "a policy of images": (
        {**GOOD, **building(signature=SIGNED)},
        {**OTHER, **building(signature=SIGNED)},
        (
            "muster:controller.build.signature.required",
            "{}",
            "the Binary Authorization policy of project acme-ml",
        ),
    ),
    "a domain of a VPC": (
        {**GOOD, **with_domain("vpc", "ml.local")},
        {**OTHER, **with_domain("vpc", "ml.local", name="other")},
        (
            "muster:cluster.dns.domain",
            '"ml.local"',
            "domain ml.local of network default of project acme-ml",
        ),
    ),
    "a cluster, beside an invalid section of the other file": (
        GOOD,
        {**GOOD, "muster:pools": []},
        ("muster:cluster.name", '"ray"', "cluster ray in us-west1-b of project acme-ml"),
    ),
}


@pytest.mark.parametrize(("first", "second", "shared"), SHARED.values(), ids=list(SHARED))
def test_a_shared_name_is_warned_of(
    first: dict[str, Any], second: dict[str, Any], shared: tuple[str, str, str], tmp_path: Path
) -> None:
    path, value, resource = shared
    assert shared_names(in_folder(tmp_path, first=first, second=second)) == [
        f"{path}\n  given:  {value}\n  why:    Pulumi.second.yaml has {resource} too, which only one "
        "platform can\n"
        "  source: docs/several-clusters.md"
    ]


APART: dict[str, tuple[Any, Any]] = {
    "another name": (GOOD, OTHER),
    "another location": (GOOD, put("muster:cluster", "location", "us-west1-c")),
    "another project": (GOOD, {**GOOD, "gcp:project": "acme-eu"}),
    "a network and an account in another project": (
        {**GOOD, **NETWORK, **ACCOUNT},
        {**ELSEWHERE, **NETWORK, **ACCOUNT},
    ),
    "other ranges of the same subnet": (
        {**GOOD, **with_ranges(SUBNET, "ray-pods", "ray-services")},
        {**OTHER, **with_ranges(SUBNET, "other-pods", "other-services", name="other")},
    ),
    "ranges of the same name in another subnet": (
        {**GOOD, **with_ranges(SUBNET, "pods", "services")},
        {**OTHER, **with_ranges(SUBNET + "-2", "pods", "services", name="other")},
    ),
    "a cluster made elsewhere": ({**GOOD, "muster:cluster": {**EXISTING, "name": "ray"}}, GOOD),
    "a registry in another region": (
        {**GOOD, **building(repository="muster")},
        {**put("muster:cluster", "location", "us-east1-b"), **building(repository="muster")},
    ),
    "a domain in the cluster": (
        {**GOOD, **with_domain("cluster", "ml.local")},
        {**OTHER, **with_domain("cluster", "ml.local", name="other")},
    ),
    "an invalid cluster": (GOOD, put("muster:cluster", "channel", "slow")),
    "no stack file": (GOOD, ["config"]),
}


@pytest.mark.parametrize(("first", "second"), APART.values(), ids=list(APART))
def test_other_names_are_not_warned_of(first: Any, second: Any, tmp_path: Path) -> None:
    assert shared_names(in_folder(tmp_path, first=first, second=second)) == []


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.name)
def test_stacks_of_this_repository_share_no_names(file: Path) -> None:
    assert shared_names(file) == []
