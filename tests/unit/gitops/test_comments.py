"""The comments on pull requests: the scripts of preview.yaml with a `gh` that records its input.

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
case "$*" in
  *compare*) cat "$FILES" ;;
  *logs) cat "$LOGS" ;;
  *runs*) echo "11 success" ;;
  *PATCH*|"pr comment"*) echo "$@" > "$POSTED.arguments"; cp body.md "$POSTED" ;;
  *comments*) cat "$COMMENTS" ;;
esac
"""
HEAD = "c" * 40
STACK = "stacks/Pulumi.prod.yaml"
ONLY_STACKS = f"Plan of {HEAD}, which changes stack files only."
Post = Callable[..., str]


def comment_job(name: str = "comment") -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load(PREVIEW.read_text())["jobs"][name]
    return job


def run_script(job: str, folder: Path, **files: str) -> tuple[str, str]:
    """Runs the script as GitHub's runners do; returns the posted text, and the command that posted it.

    files: what `gh` answers: the changed `FILES`, `COMMENTS` of the pull request, `LOGS` of a job.
    """
    gh, posted = folder / "gh", folder / "posted"
    gh.write_text(GH)
    gh.chmod(0o755)
    (step,) = comment_job(job)["steps"]
    for name, text in {"COMMENTS": "", **files}.items():
        (folder / name).write_text(text)
    env = {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        **{name: str(folder / name) for name in ("FILES", "COMMENTS", "LOGS")},
        "POSTED": str(posted),
        "PLAN": files.get("PLAN", ""),
        "NUMBER": "7",
        "BASE": "b" * 40,
        "HEAD": HEAD,
        "GH_REPO": "acme/muster",
        "RUN": "5",
    }
    bash = shutil.which("bash")
    assert bash
    subprocess.run([bash, "-e", "-c", step["run"]], env=env, cwd=folder, check=True)
    return posted.read_text(errors="replace"), posted.with_suffix(".arguments").read_text().strip()


@pytest.fixture
def post(tmp_path: Path) -> Post:
    """Returns what is posted for a plan and the changed files, without the mark of the comment."""

    def posts(plan: str, *changed: str) -> str:
        listed = "".join(f"{name}\n" for name in changed or (STACK,))
        mark, _, text = run_script("comment", tmp_path, FILES=listed, PLAN=plan)[0].partition("\n")
        assert mark == "<!-- offline -->"
        return text

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

    created = {file.name for file in tmp_path.iterdir()} - {"gh", "FILES", "COMMENTS", "PLAN"}
    assert created == {"body.md", "posted", "posted.arguments"}


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


LOG = """2026-11-26T10:00:00.1234567Z ##[group]Run pulumi preview
2026-11-26T10:00:00.2345678Z STACK: prod
2026-11-26T10:00:01.1234567Z Previewing update (prod):
2026-11-26T10:00:02.1234567Z  \x1b[32m+\x1b[0m gcp:container:NodePool l4 create
2026-11-26T10:00:02.1234567Z  @acme/admins ```` <img src=x>
2026-11-26T10:00:03.1234567Z Resources:
2026-11-26T10:00:03.1234567Z     + 1 to create
2026-11-26T10:00:04.1234567Z ##[group]Run gcloud storage cp
2026-11-26T10:00:05.1234567Z Copying plan.json
"""


def test_a_live_plan_is_posted_from_the_log_of_its_job(tmp_path: Path) -> None:
    text, command = run_script("live-comment", tmp_path, LOGS=LOG)
    assert command == "pr comment 7 --body-file body.md"
    mark, heading, *shown = text.splitlines()
    assert (mark, HEAD in heading) == ("<!-- live -->", True)
    assert shown[:5] == ["", "**prod**", "success", "````text", "Previewing update (prod):"]
    assert " + gcp:container:NodePool l4 create" in shown
    assert shown[-2:] == ["    + 1 to create", "````"]
    assert "STACK" not in text
    assert "Copying" not in text


def test_text_of_a_live_plan_ends_no_block_and_mentions_no_user(tmp_path: Path) -> None:
    text, _ = run_script("live-comment", tmp_path, LOGS=LOG)
    assert text.count("````") == 2
    assert "@acme" not in text


@pytest.mark.parametrize("job", ["comment", "live-comment"])
def test_a_second_run_edits_the_comment_of_the_first(job: str, tmp_path: Path) -> None:
    _, command = run_script(job, tmp_path, FILES=STACK, LOGS=LOG, COMMENTS="41\n42\n")
    assert command == "api --method PATCH repos/acme/muster/issues/comments/41 --field body=@body.md"


def test_live_plans_are_posted_by_a_job_without_code_of_the_pull_request() -> None:
    job = comment_job("live-comment")
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert json.dumps(job["steps"]).count("uses") == 0
