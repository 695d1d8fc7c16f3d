"""The comment on pull requests: the script of preview.yaml with a `gh` that keeps what it is given.

The text of the plan is by the pull request's own code, so it is hostile here.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.toolchain.paths import CHECKOUT

PREVIEW = CHECKOUT / "examples" / "gitops" / "github" / "preview.yaml"
GH = """#!/bin/sh
case "$1" in
  api) cat "$FILES" ;;
  pr) shift 2; echo "$@" > "$POSTED.arguments"; cat > "$POSTED" ;;
esac
"""
HEAD = "c" * 40
STACK = "stacks/Pulumi.prod.yaml"
ONLY_STACKS = f"Plan of {HEAD}, which changes stack files only."
Post = Callable[..., str]


def comment_job() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load(PREVIEW.read_text())["jobs"]["comment"]
    return job


@pytest.fixture
def post(tmp_path: Path) -> Post:
    """Runs the script as GitHub's runners do, and returns the posted text."""
    gh, files, posted = tmp_path / "gh", tmp_path / "files", tmp_path / "posted"
    gh.write_text(GH)
    gh.chmod(0o755)
    (step,) = comment_job()["steps"]

    def posts(plan: str, *changed: str) -> str:
        files.write_text("".join(f"{name}\n" for name in changed or (STACK,)))
        env = {
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "FILES": str(files),
            "POSTED": str(posted),
            "PLAN": plan,
            "NUMBER": "7",
            "BASE": "b" * 40,
            "HEAD": HEAD,
            "GH_REPO": "acme/muster",
        }
        bash = shutil.which("bash")
        assert bash
        subprocess.run([bash, "-e", "-c", step["run"]], env=env, cwd=tmp_path, check=True)
        return posted.read_text(errors="replace")

    return posts


def test_a_plan_is_shown_as_it_is(post: Post) -> None:
    folded = "<details><summary>The plan</summary>\n\n```diff\n+ a: 1 < 2\n```\n\n</details>"
    plan = f"### prod\n\n3 to create\n\n{folded}"

    assert post(plan) == f"{ONLY_STACKS}\n\n{plan}\n"


HARMLESS = {
    "a mention": ("@acme/admins approved", r"@(?=[a-z])"),
    "an image, which tells its server about every reader": ("![x](https://evil.example/x.png)", r"\]\("),
    "a link with another text": ("[docs](https://evil.example)", r"\]\("),
    "a link by reference": ("[docs][1]\n\n[1]: https://evil.example", r"\]\[|\]:"),
    "an image as a tag": ('<img src="https://evil.example/x.png">', r"<(?!/?(details|summary)>)[A-Za-z!/?]"),
    "a comment that hides what follows": ("<!-- ", r"<!"),
    "a tag with attributes": ('<details open onclick="x">', r"<details [a-z]"),
    "the mark that the script uses itself": ("\x01img src=x>", r"[\x00-\x08\x0b-\x1f]|<img"),
    "an order to a bot": ("/approve\n  /merge", r"(?m)^\s*/[a-z]"),
    "sequences of terminals": ("\x1b[2Kgone", r"\x1b"),
}


@pytest.mark.parametrize(("plan", "effective"), HARMLESS.values(), ids=HARMLESS.keys())
def test_text_of_a_pull_request_has_no_effect(plan: str, effective: str, post: Post) -> None:
    assert re.search(effective, plan)  # so that the case is one
    assert not re.search(effective, post(plan))


def test_the_shell_reads_nothing_of_it(post: Post, tmp_path: Path) -> None:
    post("$(touch a) `touch b` '; touch c; '\" && touch d #", "stacks/$(touch e)`touch f`.py")

    assert {file.name for file in tmp_path.iterdir()} == {"gh", "files", "posted", "posted.arguments"}


@pytest.mark.parametrize(
    "changed",
    [
        "policies/config/prod.json",
        ".github/workflows/preview.yaml",
        "stacks/Pulumi.prod.yaml.py",
        "stacks/x/Pulumi.prod.yaml",
    ],
)
def test_code_that_the_same_request_changes_is_named(changed: str, post: Post) -> None:
    first, *_ = post(ONLY_STACKS, STACK, changed).split("\n\n")

    assert "review these files" in first
    assert first.splitlines()[1:] == ["```", changed, "```"]


def test_names_of_files_end_no_block(post: Post) -> None:
    assert post("", "a```\n<img src=x>").count("```") == 2


def test_a_list_that_may_be_incomplete_is_not_trusted(post: Post) -> None:
    """GitHub's comparison lists 300 files at most (REST API, "Compare two commits")."""
    assert "300 files or more" in post("", *[f"stacks/Pulumi.s{i}.yaml" for i in range(300)])


def test_a_huge_plan_fits_into_a_comment(post: Post) -> None:
    assert len(post("@" * 60_000).encode()) <= 65_536


def test_the_comment_is_about_the_commit_whose_plan_it_is() -> None:
    """The head may have moved since: the files are those of the event's commits, not of the current ones."""
    job = comment_job()

    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert json.dumps(job["steps"]).count("uses") == 0
    assert job["steps"][0]["env"]["HEAD"] == "${{ github.event.pull_request.head.sha }}"
    assert "compare/$BASE...$HEAD" in job["steps"][0]["run"]
