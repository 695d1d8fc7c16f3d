"""The stand-in plugins under the real engine: previews, creation, updates, refusals and deletion."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from preview.pulumi_cli import PulumiCli, PulumiError, Stack
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.conftest import STAND_INS
from tools.toolchain.paths import CHECKOUT

PROGRAM = CHECKOUT / "tests" / "unit" / "preview" / "plugins" / "program"

Selects = Callable[..., Stack]


@pytest.fixture
def select(tools: dict[str, Path], tmp_path: Path) -> Selects:
    """Selects a stack of the test program with this configuration, with or without a cluster."""

    def selects(cluster: Kubectl | None = None, **config: str) -> Stack:
        settings = tmp_path / "settings.yaml"
        values = {f"plugins-fixture:{key}": value for key, value in config.items()}
        settings.write_text(yaml.safe_dump({"config": values}))
        env = {"KUBECONFIG": str(cluster.kubeconfig)} if cluster else {}
        run = tmp_path / "run"
        cli = PulumiCli(tools["pulumi"], run, env=env, project=PROGRAM, choices=STAND_INS)
        return cli.select("test", settings)

    return selects


def test_everything_is_previewed_without_a_project_or_a_cluster(select: Selects) -> None:
    outcome = select(parts="project,objects,charts").preview()
    assert outcome.counts == {"create": 14}
    assert "warning" not in outcome.text
    assert "Traceback" not in outcome.text


def test_an_invalid_gke_body_fails_the_preview_with_all_paths(select: Selects) -> None:
    with pytest.raises(PulumiError) as refused:
        select(parts="pool").preview()
    for place in (
        "nodeConfig.guestAccelerators[0].tpye: unknown property; did you mean type?",
        "nodeConfig.taints[0].effect: expected one of NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE, given "
        '"NoSchedule"',
    ):
        assert f"resource 'l4' has a problem: {place}" in str(refused.value)


def test_an_image_is_previewed_and_not_built(select: Selects) -> None:
    stack = select(parts="image")
    assert stack.preview().counts == {"create": 2}
    with pytest.raises(
        PulumiError, match=r"cannot build 'controller': the offline stand-in .* previews only"
    ):
        stack.up()


def test_objects_are_created_updated_and_deleted(select: Selects, cluster: Kubectl, tmp_path: Path) -> None:
    stack = select(cluster)
    assert stack.up().counts == {"create": 9}
    assert stack.outputs() == {"account": "team/account"}
    stack.up(expect_no_changes=True)

    changed = select(cluster, tier="two", replaced="after")
    assert changed.up().counts == {"update": 1, "replace": 1}
    configs = cluster.run("get", "configmaps", "--namespace=team", "-o", "name").split()
    assert "configmap/after" in configs
    assert "configmap/before" not in configs

    cluster.run("label", "--namespace=team", "serviceaccount", "account", "tier=by-hand", "--overwrite")
    cluster.run("delete", "gadget", "gadget")
    assert changed.refresh().counts == {"update": 1, "delete": 1}
    assert_secret_nowhere(tmp_path / "run")

    with pytest.raises(PulumiError, match=r"cannot preview ResourceQuota team/quota: .*quantities must"):
        select(cluster, tier="by-hand", replaced="after", cpu="lots").preview()

    assert set(changed.destroy().counts) == {"delete"}
    assert "namespace/team" not in cluster.run("get", "namespaces", "-o", "name").split()


def assert_secret_nowhere(run: Path) -> None:
    """Asserts that the program's secret is in no file of the run: state, logs or events."""
    written = [path.read_bytes() for path in run.rglob("*") if path.is_file()]
    for form in (b"opensesame", b"b3BlbnNlc2FtZQ"):  # plain and in base64
        assert not any(form in content for content in written)


def test_stack_local_is_deployed_once_without_further_changes(local_stack: Stack) -> None:
    """The API server and the CRDs' own validation accept every object of the stack."""
    local_stack.up(expect_no_changes=True)
