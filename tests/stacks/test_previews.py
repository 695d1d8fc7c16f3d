"""`pulumi preview` of every stack through the real engine, with no cloud account and no cluster."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from policies.rules import RULES
from preview import golden
from preview.plugins.choice import choose_offline
from preview.plugins.gcp_replacements import has_rules
from preview.pulumi_cli import Outcome, PulumiCli, PulumiError
from settings.load import load, warnings
from tools.toolchain.paths import CHECKOUT

STACKS = sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml"))


def stack_name(path: Path) -> str:
    return path.stem.removeprefix("Pulumi.")


@pytest.fixture(scope="module")
def cli(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> PulumiCli:
    return PulumiCli(tools["pulumi"], tmp_path_factory.mktemp("previews"), choices=choose_offline())


def kinds(outcome: Outcome) -> Counter[str]:
    """Returns the number of resources of each kind, by the last part of Pulumi's type."""
    return Counter(change.type.rpartition(":")[2] for change in outcome.changes)


@pytest.fixture(scope="module", params=STACKS, ids=stack_name)
def previewed(request: pytest.FixtureRequest, cli: PulumiCli) -> tuple[Path, Outcome]:
    """Each stack's settings and the outcome of its preview with policies; run once for all tests."""
    path: Path = request.param
    before = path.read_bytes()
    outcome = cli.select(stack_name(path), path).preview(policies=True)
    assert path.read_bytes() == before
    return path, outcome


def test_every_stack_is_previewed(previewed: tuple[Path, Outcome]) -> None:
    path, outcome = previewed
    assert set(outcome.counts) == {"create"}
    settings, declared_kinds = load(path), kinds(outcome)
    other_warnings = [warning for warning in outcome.warnings if not is_advice(warning)]
    assert other_warnings == warnings(settings)
    assert declared_kinds["ResourceFlavor"] == len({pool.flavor_name for pool in settings.pools})
    assert declared_kinds["WorkloadPriorityClass"] == len(settings.admission.priorities)
    node_pools = sum(len(pool.node_pools) for pool in settings.pools)
    assert declared_kinds["NodePool"] == (0 if settings.cluster.kind == "existing" else node_pools)


def is_advice(warning: str) -> bool:
    """Returns whether the warning is of a policy that is only advisory in the environment."""
    return any(warning.startswith(f"{rule.id}:") for rule in RULES)


def test_every_stack_keeps_the_rules_of_its_environment(previewed: tuple[Path, Outcome]) -> None:
    _, outcome = previewed
    assert "muster@v" in outcome.text
    # Every rule was checked: none reads values that are only known after `up`.
    assert not [warning for warning in outcome.warnings if "can't run policy" in warning]


def test_the_plan_is_the_one_that_was_reviewed(previewed: tuple[Path, Outcome]) -> None:
    path, outcome = previewed
    differs = golden.difference(stack_name(path), outcome.changes)
    accept = f"If that is what you want, accept it with: {golden.ACCEPT}"
    assert not differs, f"{differs}\n\n{accept}\nplugins: {outcome.plugins}"


def test_replacing_properties_of_every_type_are_known(previewed: tuple[Path, Outcome]) -> None:
    types = {change.type for change in previewed[1].changes if change.type.startswith("gcp:")}
    assert {token for token in types if not has_rules(token)} == set()


def test_engine_kueue_declares_the_same_stack_without_the_controller(cli: PulumiCli, tmp_path: Path) -> None:
    """Changes the engine of stack local, as `make up ENGINE=kueue` does."""
    content = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.local.yaml").read_text())
    content["config"]["muster:admission"]["engine"] = "kueue"
    changed = tmp_path / "Pulumi.local.yaml"
    changed.write_text(yaml.safe_dump(content))
    declared_kinds = kinds(cli.select("kueue", changed).preview())
    assert declared_kinds["Deployment"] == 0
    assert declared_kinds["WorkloadPriorityClass"] == len(load(changed).admission.priorities)


@pytest.mark.thorough
def test_pools_are_added_to_a_gke_cluster_made_elsewhere(cli: PulumiCli, tmp_path: Path) -> None:
    """Changes stack dev so that cluster and system pool are there already."""
    content = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.dev.yaml").read_text())
    content["config"]["muster:cluster"] = {
        "kind": "existing",
        "name": "shared",
        "gke": {"location": "us-west1-b", "labels": {"environment": "dev", "cost-center": "ml-platform"}},
    }
    content["config"]["muster:pools"][0]["existing"] = True
    changed = tmp_path / "Pulumi.dev.yaml"
    changed.write_text(yaml.safe_dump(content))
    declared_kinds = kinds(cli.select("joined", changed).preview(policies=True))
    assert (declared_kinds["Cluster"], declared_kinds["NodePool"], declared_kinds["ResourceFlavor"]) == (
        0,
        1,
        2,
    )


@pytest.mark.thorough
def test_a_compute_class_takes_the_place_of_a_node_pool(cli: PulumiCli, tmp_path: Path) -> None:
    """Changes stack dev so that GKE looks for L4s in three ways."""
    content = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.dev.yaml").read_text())
    pool = content["config"]["muster:pools"][1]
    del pool["provisioning"]
    ways = [{"provisioning": "on-demand"}, {"provisioning": "spot"}, {"provisioning": "flex-start"}]
    pool["computeClass"] = {"priorities": ways}
    changed = tmp_path / "Pulumi.dev.yaml"
    changed.write_text(yaml.safe_dump(content))
    outcome = cli.select("compute-class", changed).preview(policies=True)
    declared_kinds = kinds(outcome)
    assert (declared_kinds["NodePool"], declared_kinds["ComputeClass"], declared_kinds["AdmissionCheck"]) == (
        1,
        1,
        0,
    )
    spec = next(change.after["spec"] for change in outcome.changes if change.type.endswith(":ComputeClass"))
    assert len(spec["priorities"]) == len(ways)


def test_a_stack_with_secrets_is_previewed_without_its_key(cli: PulumiCli, tmp_path: Path) -> None:
    content = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.local.yaml").read_text())
    content |= {
        "secretsprovider": "gcpkms://projects/acme/locations/global/keyRings/pulumi/cryptoKeys/state",
        "encryptedkey": "Q2lwaGVydGV4dA==",
        "environment": ["acme/prod"],
    }
    content["config"]["github:token"] = {"secure": "v1:bm9uY2U=:Y2lwaGVydGV4dA=="}
    changed = tmp_path / "Pulumi.secrets.yaml"
    changed.write_text(yaml.safe_dump(content))
    assert set(cli.select("secrets", changed).preview().counts) == {"create"}


def test_a_wrong_setting_is_refused_before_anything_is_declared(cli: PulumiCli, tmp_path: Path) -> None:
    settings = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.local.yaml").read_text())
    settings["config"]["muster:admission"]["engine"] = "slurm"
    wrong = tmp_path / "Pulumi.wrong.yaml"
    wrong.write_text(yaml.safe_dump(settings))
    with pytest.raises(PulumiError, match="slurm") as failure:
        cli.select("wrong", wrong).preview()
    assert "Traceback" not in str(failure.value)
    assert str(failure.value).count("expected:") == 1  # other_warnings once
