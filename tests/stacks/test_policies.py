"""The policy pack in the real engine, on violations; test_previews.py runs it on every stack."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.rule import Resource
from policies.rules import RULES
from preview import plan_text
from preview.pulumi_cli import Outcome, PulumiCli, PulumiError
from tests.stacks.conftest import STAND_INS
from tests.unit.policies.builders import (
    DIGEST,
    account,
    check,
    cluster,
    deployment,
    flavor,
    l4_pool,
    namespace,
    pool,
    queue,
    release,
    resource,
)
from tools.toolchain.paths import CHECKOUT

PROGRAM = CHECKOUT / "tests" / "unit" / "policies" / "program"
CHECKED = [{"name": "queued", "onFlavors": ["l4"]}]
BUCKET = "gcp:storage/bucket:Bucket"

NODES = {"serviceAccount": "nodes@acme-ml-dev.iam.gserviceaccount.com"}

Preview = Callable[..., Outcome]


@pytest.fixture(scope="module")
def cli(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> PulumiCli:
    return PulumiCli(tools["pulumi"], tmp_path_factory.mktemp("policies"), choices=STAND_INS)


@pytest.fixture
def preview(tools: dict[str, Path], tmp_path: Path) -> Preview:
    """Previews a stack with these resources in an environment; None declares no environment."""

    def previews(environment: str | None, *resources: Resource) -> Outcome:
        listed = [
            {"type": r.type, "name": r.name, "properties": r.props, "protect": r.protect} for r in resources
        ]
        settings = tmp_path / "settings.yaml"
        declared = {"muster:environment": environment} if environment else {}
        config = {**declared, "policies-fixture:resources": json.dumps(listed)}
        settings.write_text(yaml.safe_dump({"config": config}))
        cli = PulumiCli(tools["pulumi"], tmp_path / "run", project=PROGRAM, choices=STAND_INS)
        return cli.select("test", settings).preview(policies=True)

    return previews


def changed(path: Path, tmp_path: Path, *place: str, to: object) -> Path:
    """Returns a copy of a stack file with another value at `place`."""
    content: dict[str, Any] = yaml.safe_load(path.read_text())
    here = content["config"]
    for part in place[:-1]:
        here = here[part]
    here[place[-1]] = to
    copy = tmp_path / path.name
    copy.write_text(yaml.safe_dump(content))
    return copy


def test_prod_without_deletion_protection_fails(cli: PulumiCli, tmp_path: Path) -> None:
    prod = CHECKOUT / "stacks" / "Pulumi.prod.yaml"
    unprotected = changed(prod, tmp_path, "muster:cluster", "deletionProtection", to=False)
    with pytest.raises(PulumiError) as failure:
        cli.select("prod", unprotected).preview(policies=True)
    assert str(failure.value) == (
        "pulumi preview of stack prod: muster-deletion-protection: GKE and Pulumi refuse to delete a cluster "
        "by mistake, and a bucket can be deleted only when empty. (GKE and Cloud Storage providers: "
        "deletionProtection, forceDestroy; Pulumi: protect)\n"
        "  gcp:container/cluster:Cluster ray-prod: remove deletionProtection: it is false\n"
        "  gcp:container/cluster:Cluster ray-prod: set the resource option protect"
    )
    outcome = failure.value.outcome
    assert outcome is not None
    assert "container.Cluster ray-prod" in plan_text.summary(outcome.changes)
    assert plan_text.policies(outcome).endswith(" policies passed, 1 failed")


def test_a_compliant_stack_passes_as_prod(preview: Preview) -> None:
    pinned = release(values={"image": {"tag": f"v1.6.2{DIGEST}"}})
    app = deployment(f"gcr.io/acme/app:1.2{DIGEST}")
    good = (cluster(), account(), pool(), l4_pool(), flavor(), check(), queue(checks=CHECKED), app, pinned)
    outcome = preview("prod", *good)
    assert outcome.counts == {"create": 10}
    assert "✅ muster@v" in outcome.text
    assert outcome.passed == len(RULES)


BROKEN = (
    cluster(protect=False, privateClusterConfig=None),
    pool(config={"workloadMetadataConfig": None}),
    l4_pool(),
    flavor(),
    queue(),
    deployment(seccomp=None),
    namespace(level=None),
    release(version=None),
)


def test_each_class_of_violation_fails_with_its_id(preview: Preview) -> None:
    with pytest.raises(PulumiError) as failure:
        preview("prod", *BROKEN)
    for id in (
        "cis-gke-5.6.5-private-nodes",
        "muster-deletion-protection",
        "cis-gke-5.4.1-metadata-server",
        "cis-gke-4.6.2-seccomp",
        "cis-gke-4.2.1-pod-security",
        "cis-gke-4.3.2-namespace-has-network-policy",
        "muster-queued-pool-has-checked-flavor",
        "muster-charts-are-pinned",
    ):
        assert f"{id}: " in str(failure.value)


def test_an_advisory_violation_is_a_warning_with_the_reason(preview: Preview) -> None:
    labels = {"environment": "dev", "cost-center": "ml"}
    public = cluster(protect=False, privateClusterConfig=None, resourceLabels=labels)
    outcome = preview("dev", public, account(project="acme-ml-dev"), pool(config=NODES))
    assert "[advisory] [severity: high]  cis-gke-5.6.5-private-nodes" in outcome.text
    assert "(in this environment: the default network has no Cloud NAT" in outcome.text
    assert "muster-deletion-protection" not in outcome.text


def test_a_stack_without_an_environment_is_checked_as_prod(preview: Preview) -> None:
    with pytest.raises(PulumiError) as failure:
        preview(None, cluster(protect=False), pool())
    assert "muster-deletion-protection: " in str(failure.value)
    assert "checked as prod, as the stack declares no muster:environment" in str(failure.value)


def test_an_environment_that_does_not_exist_is_refused(preview: Preview) -> None:
    with pytest.raises(
        PulumiError, match="muster:environment is 'qa', expected one of dev, local, prod, staging"
    ):
        preview("qa", cluster())


def test_missing_cost_labels_are_added_with_remediation(preview: Preview, tmp_path: Path) -> None:
    bucket = resource(BUCKET, "logs", {"location": "US", "labels": {"team": "ml"}, "project": "id of first"})
    labelled = resource(
        BUCKET, "first", {"location": "US", "labels": {"environment": "dev", "cost-center": "ml-platform"}}
    )
    outcome = preview("dev", labelled, bucket)
    assert "[remediate]  muster-cost-labels  (1 resource)" in outcome.text
    events = (tmp_path / "run" / "logs" / "pulumi-preview-test.events.json").read_text().splitlines()
    steps = [json.loads(line).get("resourcePreEvent", {}).get("metadata") for line in events]
    (planned,) = [step["new"]["inputs"] for step in steps if step and step["urn"].endswith("::logs")]
    assert planned["labels"] == {"team": "ml", "environment": "dev", "cost-center": "unassigned"}
    assert (
        planned["project"] == "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    )  # the engine's placeholder for unknown values

    with pytest.raises(PulumiError, match=r"muster-cost-labels: (.*\n)+.*::?Bucket logs: add the label"):
        preview("prod", labelled, bucket)
