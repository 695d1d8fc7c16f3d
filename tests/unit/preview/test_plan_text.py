"""Plans formatted for the terminal, pull requests and golden summaries."""

from typing import Any

import pytest

from preview import plan_text
from preview.plan import ResourceChange
from preview.plan_properties import described, short_kind
from preview.pulumi_cli import Outcome
from preview.resources.values import UNKNOWN

PLATFORM, POOL = "muster:platform:NodePools", "gcp:container/nodePool:NodePool"


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::muster::{token}::{name}"


def change(op: str, token: str, name: str, parent: str = "", **fields: Any) -> ResourceChange:
    return ResourceChange(op, token, urn(token, name), parent, **fields)


STACK = change("create", "pulumi:pulumi:Stack", "muster-dev")
POOLS = change("same", PLATFORM, "node-pools", parent=STACK.urn)
CREATED = change(
    "create",
    POOL,
    "l4",
    parent=POOLS.urn,
    after={"nodeConfig": {"machineType": "g2-standard-4"}},
    protect=True,
)
UPDATED = change(
    "update",
    POOL,
    "system-nodes",
    parent=POOLS.urn,
    before={"autoscaling": {"maxNodeCount": 1}},
    after={"autoscaling": {"maxNodeCount": 3}},
)
REPLACED = change(
    "replace",
    POOL,
    "h100",
    parent=POOLS.urn,
    before={"nodeConfig": {"spot": True}},
    after={"nodeConfig": {}},
    replacing=frozenset({"nodeConfig.spot"}),
)
DELETED = change("delete", "kubernetes:core/v1:Namespace", "team-b", parent=STACK.urn, protect=True)
UNCHANGED = change("same", "kubernetes:core/v1:Namespace", "team-a", parent=STACK.urn)
CHANGES = (STACK, UNCHANGED, DELETED, UPDATED, CREATED, POOLS, REPLACED)


def plan(*changes: ResourceChange, warnings: tuple[str, ...] = (), **fields: Any) -> Outcome:
    return Outcome({}, changes, warnings, "", 1.0, **fields)


def test_most_important_changes_are_counted_first() -> None:
    assert plan_text.counts(CHANGES) == "1 to replace, 1 to delete, 1 to update, 1 to create, 2 unchanged"
    assert plan_text.counts([STACK]) == "nothing declared"
    assert plan_text.counts([change("import", POOL, "a")]) == "1 to import"


def test_table_is_aligned_and_excludes_unchanged_resources() -> None:
    assert [line for _, line in plan_text.table(CHANGES)] == [
        "- Namespace team-b                   protected",
        "  NodePools node-pools",
        "±   container.NodePool h100          nodeConfig.spot: true → (none) (replaces)",
        "+   container.NodePool l4            machineType=g2-standard-4 protected",
        "~   container.NodePool system-nodes  autoscaling.maxNodeCount: 1 → 3",
    ]


def test_summary_does_not_depend_on_the_order_and_is_not_aligned() -> None:
    assert plan_text.summary(CHANGES) == plan_text.summary(CHANGES[::-1])
    assert "+   container.NodePool l4  machineType=g2-standard-4 protected\n" in plan_text.summary(CHANGES)


def test_dangers_name_the_property_that_forces_them() -> None:
    assert plan_text.dangers(CHANGES) == [
        "± container.NodePool h100  nodeConfig.spot: true → (none) (replaces)",
        "- Namespace team-b  protected: the engine refuses",
    ]
    harmless = [
        change("delete", "muster:platform:Tenants", "tenants", custom=False),
        change("replace", "pulumi:providers:gcp", "google"),
    ]
    assert plan_text.dangers(harmless) == []
    dependent = change("replace", POOL, "l4", before={"cluster": "a"}, after={"cluster": "a"})
    assert plan_text.dangers([dependent]) == ["± container.NodePool l4  with what it depends on"]


def test_comment_shows_counts_and_dangers_and_folds_the_plan() -> None:
    outcome = plan(*CHANGES, warnings=("mind\n  the gap",), passed=40, plugins="gcp: stand-in (why)")
    comment = plan_text.markdown("Preview of dev", outcome)
    shown, folded = comment.split("<details>")
    assert shown.startswith("### Preview of dev\n\n1 to replace,")
    assert "2 unchanged, 40 policies passed\n" in shown
    assert "- :warning: mind the gap" in shown
    assert "```diff\n-/+ container.NodePool h100" in shown
    assert "\n- Namespace team-b" in shown
    assert "system-nodes" not in shown
    assert "\n!   container.NodePool system-nodes" in folded
    assert "\n+   container.NodePool l4" in folded
    assert folded.endswith("</details>\n\nPlugins: gcp: stand-in (why)\n")
    unchanged = plan_text.markdown("Preview of dev", plan(STACK, UNCHANGED))
    assert unchanged == "### Preview of dev\n\n1 unchanged\n"


def test_comment_shows_violated_policies_beside_the_plan() -> None:
    outcome = plan(*CHANGES, violations=("private-nodes: why\n  Cluster one: set it",), passed=39)
    comment = plan_text.markdown("Preview of dev", outcome)
    assert "2 unchanged, 39 policies passed, 1 failed\n" in comment
    assert "**Violated policies**\n```text\nprivate-nodes: why\n  Cluster one: set it\n```" in comment
    assert "container.NodePool system-nodes" in comment


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (POOL, "container.NodePool"),
        ("gcp:projects/iAMMember:IAMMember", "projects.IAMMember"),
        ("kubernetes:core/v1:Namespace", "Namespace"),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", "Role"),
        ("pulumi:providers:gcp", "provider gcp"),
        ("docker-build:index:Image", "docker-build.Image"),
        (PLATFORM, "NodePools"),
    ],
)
def test_type_has_a_short_kind(token: str, kind: str) -> None:
    assert short_kind(token) == kind


def quota(name: str, nominal: int, **limits: int) -> dict[str, Any]:
    return {"name": name, "nominalQuota": nominal, **limits}


@pytest.mark.parametrize(
    ("token", "inputs", "words"),
    [
        pytest.param(
            POOL,
            {
                "nodeConfig": {"machineType": "g2", "guestAccelerators": [{"type": "nvidia-l4", "count": 1}]},
                "queuedProvisioning": {"enabled": True},
                "nodeLocations": ["a", "b"],
            },
            "machineType=g2 guestAccelerators=[{count: 1, type: nvidia-l4}] queuedProvisioning.enabled=true "
            "nodeLocations=[a, b]",
            id="pool",
        ),
        pytest.param(
            "kubernetes:apps/v1:Deployment",
            {"spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": f"a@{UNKNOWN}"}]}}}},
            "replicas=2 image=(known later)",
            id="a value in a list",
        ),
        pytest.param(
            "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
            {
                "spec": {
                    "cohortName": "ml",
                    "resourceGroups": [
                        {
                            "flavors": [
                                {
                                    "name": "l4",
                                    "resources": [quota("cpu", 20), quota("gpu", 5, lendingLimit=1)],
                                },
                                {"name": "cpu", "resources": [quota("cpu", 2, borrowingLimit=0)]},
                            ]
                        }
                    ],
                }
            },
            "cohort=ml l4(cpu 20, gpu 5 -1) cpu(cpu 2 +0)",
            id="quotas",
        ),
        pytest.param(
            "docker-build:index:Image",
            {"push": True, "tags": ["us-docker.pkg.dev/a/b:8faaba03", "us-docker.pkg.dev/a/b:latest"]},
            "push=true us-docker.pkg.dev/a/b",
            id="image",
        ),
        pytest.param(
            "gcp:projects/iAMMember:IAMMember", {"role": "a", "member": "b"}, "role=a member=b", id="grant"
        ),
        pytest.param("kubernetes:v1:Secret", {"stringData": {"token": "[secret]"}}, "", id="nothing to show"),
        pytest.param("kubernetes:core/v1:Namespace", {"metadata": {"labels": {}}}, "", id="nothing set"),
    ],
)
def test_resource_is_described_by_few_properties(token: str, inputs: dict[str, Any], words: str) -> None:
    assert described(token, inputs) == words


def test_no_line_ends_a_block_of_code() -> None:
    """A violation quotes values of the stack file."""
    outcome = Outcome({}, (), (), "", 0.0, violations=("a: ````", "```", "**approved**"))

    text = plan_text.markdown("dev", outcome)

    assert "`````text\na: ````\n```\n**approved**\n`````" in text
