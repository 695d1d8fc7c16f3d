"""The workflows and the operator's Stack as users copy them: valid, pinned, and true of this checkout."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.toolchain.paths import CHECKOUT

GITOPS = CHECKOUT / "examples" / "gitops"
WORKFLOWS = sorted((GITOPS / "github").glob("*.yaml"))
STACKS = {path.stem.removeprefix("Pulumi.") for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml")}
PINNED = re.compile(r"uses: \S+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+")
OWN = "./.github/workflows/"


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every use of a workflow by another: where, which, and with what."""
    for path in WORKFLOWS:
        for name, job in jobs(path).items():
            if str(job.get("uses", "")).startswith(OWN):
                yield f"{path.name}: {name}", job["uses"].removeprefix(OWN), job


def test_every_workflow_is_one_that_github_reads() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    checked = subprocess.run([*command, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_of_others_are_pinned_by_commit(path: Path) -> None:
    uses = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses: " in line]
    assert [use for use in uses if OWN not in use and not PINNED.match(use)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_nobody_else_decides_what_a_shell_runs(path: Path) -> None:
    """A pull request's title or branch in a script is a way in; numbers and our own inputs are not."""
    for job in jobs(path).values():
        for step in job.get("steps", []):
            assert "github.event" not in step.get("run", "")
            assert "head_ref" not in step.get("run", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_checkout_leaves_no_token_behind(path: Path) -> None:
    checkouts = [
        step
        for job in jobs(path).values()
        for step in job.get("steps", [])
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert [step for step in checkouts if step.get("with", {}).get("persist-credentials") is not False] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_names_the_rights_that_it_needs(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {}
    assert [name for name, job in jobs(path).items() if not job.get("permissions")] == []


def test_a_pull_requests_code_gets_no_right_but_to_read_before_a_reviewer_lets_it_run() -> None:
    for name, job in jobs(GITOPS / "github" / "preview.yaml").items():
        rights = {right for right, level in job["permissions"].items() if level == "write"}
        if any("checkout" in step.get("uses", "") for step in job.get("steps", [])):
            assert rights == set(), name
        elif "id-token" in rights:
            assert rights == {"id-token"}, name
            assert job["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
            assert job["with"]["environment"].startswith("preview-"), name
            assert "steps" not in job, name


def test_who_runs_without_a_reviewer_uses_no_environment_of_pull_requests() -> None:
    """Required reviewers would keep the drift check waiting; its environments let in only main instead."""
    used = {where: job["with"]["environment"].partition("-")[0] for where, _, job in calls()}
    assert used == {
        "deploy.yaml: dev": "dev",
        "deploy.yaml: staging": "staging",
        "deploy.yaml: prod": "prod",
        "drift.yaml: check": "drift",
        "preview.yaml: live": "preview",
    }
    text = (CHECKOUT / "docs" / "gitops.md").read_text()
    for stack in STACKS - {"local"}:
        assert f"`preview-{stack}`" in text
        assert f"`drift-{stack}`" in text


def test_workflows_are_called_as_they_ask() -> None:
    for where, name, job in calls():
        called = yaml.safe_load((GITOPS / "github" / name).read_text())
        # YAML 1.1 reads the key `on` as true.
        inputs = called[True]["workflow_call"]["inputs"]
        assert set(job["with"]) == set(inputs), where
        stacks = job.get("strategy", {}).get("matrix", {}).get("stack", [job["with"]["stack"]])
        assert set(stacks) <= STACKS, where


def test_deployment_goes_from_environment_to_environment() -> None:
    order = [(name, job.get("needs")) for name, job in jobs(GITOPS / "github" / "deploy.yaml").items()]
    assert order == [("dev", None), ("staging", "dev"), ("prod", "staging")]


def test_pulumi_is_the_locked_one() -> None:
    wanted = version("pulumi")
    assert f"pulumi-version: {wanted}" in (GITOPS / "github" / "pulumi.yaml").read_text()
    assert f"PULUMI_VERSION={wanted}" in (GITOPS / "pulumi-operator" / "Dockerfile").read_text()


def test_the_operators_stack_is_ours_and_outlives_its_object() -> None:
    documents = list(yaml.safe_load_all((GITOPS / "pulumi-operator" / "stack.yaml").read_text()))
    spec = next(d for d in documents if d["kind"] == "Stack")["spec"]
    assert spec["stack"] in STACKS
    assert spec["destroyOnFinalize"] is False
    assert spec["serviceAccountName"] in {
        d["metadata"]["name"] for d in documents if d["kind"] == "ServiceAccount"
    }
