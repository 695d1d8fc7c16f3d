"""A platform in several stack files: which settings are in which file, and what the files must agree on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.admission.policies import AdmissionPoliciesArgs, validating_policies
from settings.load import SettingsError, load, parse, warnings
from settings.model.split import PARTS, READ_BY, SECTIONS_OF, SPLIT, Part
from settings.model.stack import SECTIONS, Settings
from settings.neighbours import shared_names
from settings.split import fingerprint
from tests.unit.settings.builders import FILE, GOOD

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "split").glob("Pulumi.*.yaml"))
THREE: dict[Part, str] = {"foundation": "base", "cluster": "ops", "tenants": "teams"}
TWO: dict[Part, str] = {"foundation": "base", "cluster": "base", "tenants": "teams"}
Files = dict[str, dict[str, Any]]


def split_files(stacks: Mapping[Part, str], **split: Any) -> Files:
    """Returns the valid stack as the files of these stacks."""
    files: Files = {}
    for part, stack in stacks.items():
        config = files.setdefault(stack, {SPLIT: {**stacks, **split}})
        shared = {key: GOOD[key] for key in ("gcp:project", "muster:environment") if key in GOOD}
        keys = {str(Settings.model_fields[section].alias) for section in SECTIONS_OF[part]}
        config |= shared | {key: value for key, value in GOOD.items() if key in keys}
    return files


def written(folder: Path, files: Files) -> dict[str, Path]:
    paths = {stack: folder / f"Pulumi.{stack}.yaml" for stack in files}
    for stack, path in paths.items():
        path.write_text(yaml.safe_dump({"config": files[stack]}))
    return paths


@pytest.mark.parametrize("stacks", [TWO, THREE], ids=["two stacks", "three stacks"])
def test_each_file_has_the_settings_of_the_whole_platform(stacks: Mapping[Part, str], tmp_path: Path) -> None:
    for path in written(tmp_path, split_files(stacks)).values():
        assert load(path) == parse(GOOD, FILE)


def test_each_section_belongs_to_a_part() -> None:
    placed = [section for part in PARTS for section in SECTIONS_OF[part]]
    assert sorted([*placed, "environment", "project"]) == sorted(SECTIONS)


def edited(stack: str, key: str, value: Any) -> Files:
    files = split_files(THREE)
    files[stack][key] = value
    return files


def edited_deployer(account: str, section: str, index: int, key: str, value: Any) -> Files:
    """Returns files with this account as deployer, and a key in a section's entry."""
    files = split_files(THREE, tenantsDeployer=f"{account}@acme-ml.iam.gserviceaccount.com")
    owner = next(config for config in files.values() if section in config)
    owner[section] = [
        {**entry, key: value} if i == index else entry for i, entry in enumerate(owner[section])
    ]
    return files


def without(stack: str) -> Files:
    return {name: config for name, config in split_files(THREE).items() if name != stack}


# Case -> the files, the path and the file of the problem, and what is expected.
REFUSED: dict[str, tuple[Files, str, str, str]] = {
    "a section in the file of another part": (
        edited("base", "muster:queues", GOOD["muster:queues"]),
        "base",
        "muster:queues",
        "no value: stack teams deploys the part tenants, to which it belongs",
    ),
    "another project": (edited("ops", "gcp:project", "acme-eu"), "ops", "gcp:project", "the value of"),
    "another split": (
        edited("teams", SPLIT, {**THREE, "cluster": "base"}),
        "teams",
        SPLIT,
        "the value of",
    ),
    "a rule between the sections of two files": (
        edited("teams", "muster:tenants", [{**GOOD["muster:tenants"][0], "queues": {"user-queue": "none"}}]),
        "teams",
        "muster:tenants[0].queues.user-queue",
        "",
    ),
    "a file that is missing": (without("ops"), "ops", "", "a stack file"),
    "engine kai": (
        edited("ops", "muster:admission", {"engine": "kai"}),
        "ops",
        "muster:admission.engine",
        "muster or kueue: the policies of engine kai name the tenants' queues and rewrite objects",
    ),
    "a part between two of another stack": (
        split_files({"foundation": "base", "cluster": "ops", "tenants": "base"}),
        "base",
        SPLIT,
        "a stack whose parts follow each other: the tenants need the cluster's part, and that needs the "
        "foundation's",
    ),
    "a file that is not listed": (
        {"base": {SPLIT: {"foundation": "a", "cluster": "a", "tenants": "a"}}, "a": {SPLIT: {}}},
        "base",
        SPLIT,
        "the stack base of this file as that of a part",
    ),
    "an unknown part": (
        edited("base", SPLIT, {**THREE, "nodes": "a"}),
        "base",
        f"{SPLIT}.nodes",
        "a known key",
    ),
    "a deployer that a tenant's pods act as": (
        edited_deployer("team-a-pods", "muster:tenants", 0, "identity", {"account": "team-a-pods"}),
        "base",
        f"{SPLIT}.tenantsDeployer",
        "an account of no tenant and no node",
    ),
    "a deployer of nodes": (
        edited_deployer(
            "ray-nodes", "muster:pools", 0, "serviceAccount", "ray-nodes@acme-ml.iam.gserviceaccount.com"
        ),
        "base",
        f"{SPLIT}.tenantsDeployer",
        "an account of no tenant and no node",
    ),
    "a stack by its path": (
        edited("base", SPLIT, {**THREE, "cluster": "acme/muster/ops"}),
        "base",
        f"{SPLIT}.cluster",
        "the name of a stack",
    ),
}


@pytest.mark.parametrize(("files", "stack", "path", "expected"), REFUSED.values(), ids=REFUSED)
def test_files_that_do_not_fit_together_are_refused(
    files: Files, stack: str, path: str, expected: str, tmp_path: Path
) -> None:
    paths = written(tmp_path, files)
    with pytest.raises(SettingsError) as error:
        load(paths.get("base") or next(iter(paths.values())))
    problems = {(Path(p.file).name, p.path): p.expected for p in error.value.problems}
    assert problems[f"Pulumi.{stack}.yaml", path].startswith(expected)


def test_a_fingerprint_changes_with_the_settings_of_its_part_only() -> None:
    before = parse(GOOD, FILE)
    tenants = [{**GOOD["muster:tenants"][0], "rayAuth": "token"}]
    more_tenants = parse({**GOOD, "muster:tenants": tenants}, FILE)
    priorities = {**GOOD["muster:admission"]["priorities"], "night": 1}
    admission = {**GOOD["muster:admission"], "priorities": priorities}
    more_priorities = parse({**GOOD, "muster:admission": admission}, FILE)
    kuberay = parse({**GOOD, "muster:kuberay": {"install": "addon"}}, FILE)
    parts = {
        part: [
            fingerprint(after, part) != fingerprint(before, part)
            for after in (more_tenants, more_priorities, kuberay)
        ]
        for part in READ_BY
    }
    assert parts == {"foundation": [False, False, True], "cluster": [False, True, True]}


def test_each_policy_belongs_to_one_part() -> None:
    def names(*parts: Part) -> list[str]:
        args = AdmissionPoliciesArgs("muster", True, 5000, secrets=True, parts=frozenset(parts))
        return [policy.name for policy in validating_policies(args)]

    assert names("foundation") == []
    assert sorted([*names("cluster"), *names("tenants")]) == sorted(names(*PARTS))
    assert {name.removeprefix("muster-rayjobs-") for name in names("tenants") if "rayjobs" in name} == {
        "have-allowed-priorities",
        "mount-own-secrets",
        "scale-themselves",
    }


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_shipped_example_is_valid_without_warnings(file: Path) -> None:
    assert warnings(load(file)) == []
    assert shared_names(file) == []
