"""Commands of the workflows and of docs/gitops.md, each run in a fresh clone.

A folder replaces the bucket, and a server with Vault's transit API replaces Cloud KMS: as with KMS, there is
no passphrase. The program is a small one, because no stand-in can create a GKE cluster.
"""

import base64
import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from preview.pulumi_cli import PulumiCli
from tests.stacks.conftest import STAND_INS
from tests.stacks.terminal import Terminal, copy_checkout
from tools.toolchain.paths import CHECKOUT

WORKFLOWS = CHECKOUT / "examples" / "gitops" / "github"
EXPRESSION = re.compile(r"\$\{\{ (inputs|vars)\.(\w+) \}\}")
PROGRAM = """
import pulumi
pulumi.ComponentResource("test:index:Thing", "thing")
pulumi.export("token", pulumi.Output.secret("opensesame"))
"""
STACK = "dev"
# Of the steps of pulumi.yaml, by the command.
CONDITIONS: dict[str | None, Callable[[str], bool]] = {
    None: lambda command: True,
    "inputs.command != 'drift'": lambda command: command != "drift",
    "inputs.command == 'drift'": lambda command: command == "drift",
    "startsWith(inputs.command, 'up ')": lambda command: command.startswith("up "),
}
# Of the steps that depend on the plan, by the input.
PLANS = {"inputs.plan == 'apply'": "apply", "inputs.plan == 'save'": "save"}
# The flags by which pulumi.yaml's expression passes the plan.
FLAGS = {"save": "--save-plan plan.json", "apply": "--plan plan.json", "none": ""}
# Copies between files and the folder that replaces the bucket.
GCLOUD = """#!/bin/sh
from=${3#file://} to=${4#file://}
mkdir -p "$(dirname "$to")" && cp "$from" "$to"
"""
KEY = "hashivault://stacks"
NO_DRIFT = "objects compared with what was deployed: nothing was changed by hand"


class Transit(BaseHTTPRequestHandler):
    """Vault's transit engine; its encryption only adds a prefix."""

    def do_PUT(self) -> None:
        inputs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "/encrypt/" in self.path:
            answer = {"ciphertext": f"vault:v1:{inputs['plaintext']}"}
        else:
            answer = {"plaintext": inputs["ciphertext"].removeprefix("vault:v1:")}
        base64.b64decode(answer.get("plaintext", ""), validate=True)
        body = json.dumps({"data": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@pytest.fixture(scope="module")
def key_server() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Transit)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Runner:
    """Runs jobs of the workflows, each in its own clone."""

    def __init__(self, cli: PulumiCli, folder: Path, env: dict[str, str]) -> None:
        self.cli, self.folder, self.env = cli, folder, env
        self.runs = 0
        self.origin = copy_checkout(folder / "origin")
        (self.origin / "__main__.py").write_text(PROGRAM)
        for command in (
            "init --quiet",
            "add --all",
            "-c user.name=a -c user.email=a@b.c commit --quiet -m a",
        ):
            subprocess.run(["git", *command.split()], cwd=self.origin, check=True)
        (folder / "state").mkdir()
        self.bucket = f"file://{folder / 'state'}"

    def clone(self, **env: str) -> Terminal:
        self.runs += 1
        folder = self.folder / f"clone-{self.runs}"
        subprocess.run(["git", "clone", "--quiet", self.origin, folder], check=True)
        return Terminal(self.cli, folder, {**self.env, **env})

    def job(self, command: str, plan: str = "none") -> str:
        """Runs the steps of pulumi.yaml with this command and use of a plan, and returns their output."""
        job = yaml.safe_load((WORKFLOWS / "pulumi.yaml").read_text())["jobs"]["pulumi"]
        variables = {
            "GOOGLE_REGION": "us-west1",
            "PULUMI_BACKEND_URL": self.bucket,
            "PULUMI_SECRETS_PROVIDER": KEY,
        }
        inputs = {"stack": STACK, "environment": STACK, "command": command, "plan": plan}
        context = {"inputs": inputs, "vars": variables}

        def filled(text: str) -> str:
            return EXPRESSION.sub(lambda match: context[match[1]][match[2]], text)

        env = {name: filled(value) for name, value in job["env"].items() if name != "PLAN"}
        terminal = self.clone(**env, PLAN=FLAGS[plan])
        gcloud = self.folder / "gcloud"
        gcloud.write_text(GCLOUD)
        gcloud.chmod(0o755)
        steps = [
            step
            for step in job["steps"]
            if re.match(r"pulumi |python -m |.*gcloud storage", step.get("run", ""), re.DOTALL)
        ]
        typed = [filled(step["run"]) for step in steps if _runs(step.get("if"), command, plan)]
        return "".join(terminal.type(step.replace("gcloud storage", f"{gcloud} storage")) for step in typed)


def _runs(condition: str | None, command: str, plan: str) -> bool:
    return PLANS[condition] == plan if condition in PLANS else CONDITIONS[condition](command)


@pytest.fixture
def runner(tools: dict[str, Path], tmp_path: Path, key_server: str) -> Runner:
    cli = PulumiCli(tools["pulumi"], tmp_path / "run", choices=STAND_INS)
    return Runner(cli, tmp_path, {"VAULT_SERVER_URL": key_server, "VAULT_SERVER_TOKEN": "anyone"})


def commands(workflow: str) -> set[str]:
    """Returns the commands that the workflow passes to pulumi.yaml."""
    jobs = yaml.safe_load((WORKFLOWS / workflow).read_text())["jobs"]
    return {job["with"]["command"] for job in jobs.values() if "command" in job.get("with", {})}


@pytest.mark.thorough
def test_every_workflow_runs_again_from_a_fresh_clone(runner: Runner) -> None:
    (live,), (deploy,) = commands("preview.yaml"), commands("environment.yaml")
    (refreshed,) = commands("drift.yaml") - {"drift"}
    # Pull requests are also previewed before the first deployment.
    for command in (live, live, deploy, deploy, refreshed, refreshed, live):
        assert re.search(r"muster(@v|\|local)", runner.job(command)), "no policies"
    assert NO_DRIFT in runner.job("drift")
    assert NO_DRIFT in runner.job(deploy)


def test_a_merge_applies_the_plan_of_its_pull_request(runner: Runner) -> None:
    """The files of the merge are those of the pull request; another change is not what was reviewed."""
    (live,), (deploy,) = commands("preview.yaml"), commands("environment.yaml")
    runner.job(live, "save")
    assert "created" in runner.job(deploy, "apply")

    (runner.origin / "README.md").write_text("merged without a plan")
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "b"],
        cwd=runner.origin,
        check=True,
    )
    with pytest.raises(AssertionError, match="no plan of these files was reviewed"):
        runner.job(deploy, "apply")


@pytest.mark.thorough
def test_a_program_that_does_more_than_its_plan_is_stopped(runner: Runner) -> None:
    (live,), (deploy,) = commands("preview.yaml"), commands("environment.yaml")
    (runner.origin / "__main__.py").write_text(
        PROGRAM
        + "import os\nif os.environ.get('MORE'):\n    pulumi.ComponentResource('test:index:Thing', 'more')\n"
    )
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "b"],
        cwd=runner.origin,
        check=True,
    )
    runner.job(live, "save")
    runner.env["MORE"] = "1"
    with pytest.raises(AssertionError, match="not allowed by the plan"):
        runner.job(deploy, "apply")


@pytest.mark.thorough
def test_the_manual_steps_work_in_any_clone(runner: Runner) -> None:
    page = (CHECKOUT / "docs" / "gitops.md").read_text()
    (block,) = re.findall(r"^## Manual deployment\n.*?^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    typed = [line for line in block.splitlines() if not line.startswith("python3 -m venv")]
    local = "\n".join(typed).replace("gs://acme-ml-pulumi", runner.bucket)
    local = re.sub(r"gcpkms://\S+", KEY, local).replace("pulumi up ", "pulumi up --yes ")
    assert local.count(KEY) == local.count(runner.bucket) == 1
    for _ in range(2):
        runner.clone().type(local)
