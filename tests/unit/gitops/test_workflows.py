"""The workflows and the operator's Stack that users copy: valid, pinned, consistent with this checkout."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.toolchain.paths import CHECKOUT

GITOPS = CHECKOUT / "examples" / "gitops"
WORKFLOWS = sorted((GITOPS / "github").glob("*.yaml"))
STACKS = {path.stem.removeprefix("Pulumi.") for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml")}
PINNED = re.compile(r"uses: \S+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+")
OWN = "./.github/workflows/"


def jobs(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return document


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields every call of a workflow by another: the caller, the called one, and its inputs."""
    for path in WORKFLOWS:
        for name, job in jobs(path).items():
            if str(job.get("uses", "")).startswith(OWN):
                yield f"{path.name}: {name}", job["uses"].removeprefix(OWN), job


def test_every_workflow_is_valid_for_github() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    checked = subprocess.run([*command, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_third_party_actions_are_pinned_by_commit(path: Path) -> None:
    uses = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses: " in line]
    assert [use for use in uses if OWN not in use and not PINNED.match(use)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_get_values_by_the_environment(path: Path) -> None:
    """GitHub puts the value of an expression into the script: a branch, title or stack could be a command."""
    scripts = [step.get("run", "") for job in jobs(path).values() for step in job.get("steps", [])]
    assert [script for script in scripts if "${{" in script] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_event_runs_code_of_pull_requests_as_main(path: Path) -> None:
    """Other events run with the rights and the caches of the main branch for anyone that opens, comments on
    or labels a pull request (GitHub, "Events that trigger workflows")."""
    events = set(yaml.safe_load(path.read_text())[True])
    assert events <= {"pull_request", "push", "schedule", "workflow_call", "workflow_dispatch"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_exchange_no_artifacts(path: Path) -> None:
    """An archive of a pull request's job may be huge, or name files outside of its folder."""
    assert "artifact" not in path.read_text()


def test_caches_of_pull_requests_stay_with_them() -> None:
    """A cache belongs to the ref that saved it; deployments, on main, never restore one of a pull request's
    (GitHub, "Restrictions for accessing a cache"), and use only packages that have the locked hashes."""
    caching = {
        path.stem: [use for use in re.findall(r"uses: (\S+)@", path.read_text()) if "cache" in use]
        for path in WORKFLOWS
    }
    assert {name for name, uses in caching.items() if uses} == {"preview"}
    (installing,) = re.findall(r"run: (pip install .*)", (GITOPS / "github" / "pulumi.yaml").read_text())
    assert "--require-hashes" in installing


def test_symbolic_links_are_refused_right_after_each_checkout(tmp_path: Path) -> None:
    after = [
        job["steps"][i + 1]["run"]
        for path in WORKFLOWS
        for job in jobs(path).values()
        for i, step in enumerate(job.get("steps", []))
        if "checkout" in step.get("uses", "")
    ]
    assert len(after) == 3

    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    for script, link, code in [(after[0], False, 0), (after[0], True, 1), (after[1], True, 1)]:
        if link:
            (tmp_path / "Pulumi.prod.yaml").unlink(missing_ok=True)
            (tmp_path / "Pulumi.prod.yaml").symlink_to("/proc/self/environ")
        subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
        done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == code


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_checkout_does_not_persist_its_token(path: Path) -> None:
    checkouts = [
        step
        for job in jobs(path).values()
        for step in job.get("steps", [])
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert [step for step in checkouts if step.get("with", {}).get("persist-credentials") is not False] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_declares_its_permissions(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {}
    assert [name for name, job in jobs(path).items() if not job.get("permissions")] == []


def test_code_of_a_pull_request_may_only_read_until_a_reviewer_approves() -> None:
    for name, job in jobs(GITOPS / "github" / "preview.yaml").items():
        rights = {right for right, level in job["permissions"].items() if level == "write"}
        if any("checkout" in step.get("uses", "") for step in job.get("steps", [])):
            assert rights == set(), name
        elif "id-token" in rights:
            assert rights == {"id-token"}, name
            assert job["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
            assert job["with"]["environment"].startswith("preview-"), name
            assert "steps" not in job, name


def test_jobs_without_a_reviewer_use_no_environment_of_pull_requests() -> None:
    """Required reviewers would block the drift check; its environments allow only main instead."""
    used = {where: job["with"]["environment"] for where, name, job in calls() if name == "pulumi.yaml"}
    stack = "${{ matrix.stack }}"
    assert used == {
        "environment.yaml: first": stack,
        "environment.yaml: second": stack,
        "environment.yaml: third": stack,
        "drift.yaml: check": f"drift-{stack}",
        "drift.yaml: objects": f"drift-{stack}",
        "preview.yaml: live": f"preview-{stack}",
    }
    text = (CHECKOUT / "docs" / "gitops.md").read_text()
    for stack in STACKS - {"local"}:
        assert f"`preview-{stack}`" in text
        assert f"`drift-{stack}`" in text


def test_workflows_are_called_with_their_inputs() -> None:
    for where, name, job in calls():
        called = yaml.safe_load((GITOPS / "github" / name).read_text())
        # YAML 1.1 parses the key `on` as true.
        inputs = called[True]["workflow_call"].get("inputs", {})
        assert set(job.get("with", {})) == set(inputs), where


def test_no_workflow_names_a_stack() -> None:
    """The jobs read the stacks from the folder; the environments dev, staging and prod only order them."""
    listed = {
        where: (job["strategy"]["matrix"]["stack"], job["with"]["stack"])
        for where, name, job in calls()
        if name == "pulumi.yaml"
    }
    assert {stack for _, stack in listed.values()} == {"${{ matrix.stack }}"}
    everything = "${{ fromJSON(needs.stacks.outputs.all) }}"
    assert {where: matrix for where, (matrix, _) in listed.items()} == {
        "environment.yaml: first": "${{ fromJSON(inputs.stacks)[0] }}",
        "environment.yaml: second": "${{ fromJSON(inputs.stacks)[1] }}",
        "environment.yaml: third": "${{ fromJSON(inputs.stacks)[2] }}",
        "drift.yaml: check": everything,
        "drift.yaml: objects": everything,
        "preview.yaml: live": everything,
    }
    assert {where: job["with"]["stacks"] for where, name, job in calls() if name == "environment.yaml"} == {
        f"deploy.yaml: {name}": f"${{{{ needs.stacks.outputs.{name} }}}}"
        for name in ("dev", "staging", "prod")
    }


FOLDER = {
    "research": 'config:\n  "muster:environment": "dev"\n',
    "dev": "config:\n  muster:environment: dev # small\n",
    "eu": "config:\n  muster:environment: staging\n",
    "prod": "config:\n  gcp:project: acme\n",  # the default
    "local": "config:\n  muster:environment: local\n",
}


def list_stacks(folder: Path, files: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Runs the script of stacks.yaml in a folder of these stacks; returns its exit code and its outputs."""
    (folder / "stacks").mkdir()
    for name, text in files.items():
        (folder / "stacks" / f"Pulumi.{name}.yaml").write_text(text)
    output = folder / "output"
    output.touch()
    (script,) = [s["run"] for s in jobs(GITOPS / "github" / "stacks.yaml")["list"]["steps"] if "id" in s]
    env = {**os.environ, "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(output)}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=env, check=False, capture_output=True)
    lines = (line.partition("=") for line in output.read_text().splitlines())
    return done.returncode, {name: json.loads(value) for name, _, value in lines}


def test_stacks_are_listed_by_their_environment(tmp_path: Path) -> None:
    assert list_stacks(tmp_path, FOLDER) == (
        0,
        {
            "dev": [["dev", "research"], [], []],
            "staging": [["eu"], [], []],
            "prod": [["prod"], [], []],
            "all": ["dev", "eu", "prod", "research"],
        },
    )


def test_a_folder_may_have_no_stack_of_an_environment(tmp_path: Path) -> None:
    _, listed = list_stacks(tmp_path, {"prod": FOLDER["prod"]})
    none: list[list[str]] = [[], [], []]
    assert listed == {"dev": none, "staging": none, "prod": [["prod"], [], []], "all": ["prod"]}


ENV = "config:\n  muster:environment: dev\n"
IN_ONE_LINE = f"{ENV}  muster:split: {{foundation: base, 'cluster': base, tenants: \"teams\"}}\n"
IN_LINES = f"{ENV}  muster:split:\n    foundation: net\n    cluster: ops # operators\n    tenants: ops\n"
SPLITS: dict[str, tuple[dict[str, str], list[list[str]]]] = {
    "the example": (
        {
            file.stem.removeprefix("Pulumi."): file.read_text()
            for file in (CHECKOUT / "examples/split").iterdir()
        },
        [["research-foundation"], ["research-cluster"], ["research-tenants"]],
    ),
    "two stacks, in one line": (
        {"teams": IN_ONE_LINE, "base": f"{IN_ONE_LINE}  muster:cluster: {{kind: gke}}\n"},
        [["base"], [], ["teams"]],
    ),
    "two stacks, before a key whose name is a part": (
        {"net": IN_LINES, "ops": f"{IN_LINES}  muster:cluster:\n    name: net\n", "dev": ENV},
        [["dev", "net"], ["ops"], []],
    ),
}


@pytest.mark.parametrize(("files", "order"), SPLITS.values(), ids=SPLITS)
def test_parts_of_a_platform_are_deployed_after_those_that_they_use(
    tmp_path: Path, files: dict[str, str], order: list[list[str]]
) -> None:
    _, listed = list_stacks(tmp_path, files)
    assert listed["dev"] == order
    assert sorted(listed["all"]) == sorted(files)


def test_an_environment_deploys_one_list_after_the_other() -> None:
    order = {name: job.get("needs") for name, job in jobs(GITOPS / "github" / "environment.yaml").items()}
    assert order == {"first": None, "second": "first", "third": ["first", "second"]}


def test_a_stack_whose_name_is_a_command_is_refused(tmp_path: Path) -> None:
    assert list_stacks(tmp_path, {"$(touch a)": FOLDER["prod"]})[0] == 1


def test_merges_apply_saved_plans_and_manual_runs_do_not() -> None:
    plans = {where: job["with"]["plan"] for where, name, job in calls() if name == "pulumi.yaml"}
    applied = "${{ github.event_name == 'push' && 'apply' || 'none' }}"
    assert plans == {
        "environment.yaml: first": applied,
        "environment.yaml: second": applied,
        "environment.yaml: third": applied,
        "drift.yaml: check": "none",
        "drift.yaml: objects": "none",
        "preview.yaml: live": "save",
    }


def test_deployment_promotes_from_dev_to_staging_to_prod() -> None:
    order = [(name, job.get("needs")) for name, job in jobs(GITOPS / "github" / "deploy.yaml").items()]
    assert order == [
        ("stacks", None),
        ("dev", "stacks"),
        ("staging", ["stacks", "dev"]),
        ("prod", ["stacks", "dev", "staging"]),
    ]


def test_workflows_use_the_locked_pulumi_version() -> None:
    expected = version("pulumi")
    assert f"pulumi-version: {expected}" in (GITOPS / "github" / "pulumi.yaml").read_text()
    assert f"PULUMI_VERSION={expected}" in (GITOPS / "pulumi-operator" / "Dockerfile").read_text()


def test_operators_stack_is_ours_and_outlives_its_object() -> None:
    documents = list(yaml.safe_load_all((GITOPS / "pulumi-operator" / "stack.yaml").read_text()))
    spec = next(d for d in documents if d["kind"] == "Stack")["spec"]
    assert spec["stack"] in STACKS
    assert spec["destroyOnFinalize"] is False
    assert spec["serviceAccountName"] in {
        d["metadata"]["name"] for d in documents if d["kind"] == "ServiceAccount"
    }
