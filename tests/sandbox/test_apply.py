"""`make apply` and `make env`: a sandbox in use gets the team of the docs, then the docs' commands work."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.types import PatchType

from sandbox.apply import apply
from sandbox.cluster import kinds
from sandbox.cluster.controller_process import running
from sandbox.stack_file import SOURCE
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob
from tools.toolchain.paths import CHECKOUT

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^(?:kubectl |\w+=\$\(kubectl )(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
IN_PROSE = re.compile(r"`(kubectl \w+ [^`\n<]+)`")
TEAM = CHECKOUT / "docs" / "adding-a-team.md"
# Simulated pods have no open ports: the test only checks that the Service exists.
FORWARD = re.compile(r"kubectl port-forward (-n \S+) (\S+) \d+")


def commands(page: Path) -> str:
    """Every kubectl command of a page, in order."""
    text = page.read_text()
    shown = [line for language, block in BLOCK.findall(text) if not language for line in TYPED.findall(block)]
    return "\n".join([*shown, *IN_PROSE.findall(BLOCK.sub("", text))])


def shown_in_yaml(page: Path) -> list[Any]:
    return [
        yaml.safe_load(block) for language, block in BLOCK.findall(page.read_text()) if language == "yaml"
    ]


def test_commands_are_found_in_code_and_in_prose() -> None:
    commands_by_page = {str(page.relative_to(CHECKOUT)): commands(page) for page in PAGES}
    assert "kubectl get workloads -n team-a" in commands_by_page["README.md"]
    assert "--patch '[{" in commands_by_page["docs/drift.md"]  # the second line of its command
    assert "cluster=$(kubectl" in commands_by_page["docs/adding-a-team.md"]
    assert "kubectl describe provisioningrequests -A" in commands_by_page["docs/operating.md"]


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """The stack file with the team of docs/adding-a-team.md, one more node, and its controller logs debug."""
    content = yaml.safe_load(SOURCE.read_text())
    config, team = content["config"], shown_in_yaml(TEAM)[0]
    tenant = team["muster:tenants"][0]
    for of_google_cloud in ("identity", "checkpoints"):
        del tenant[of_google_cloud]
    config["muster:tenants"].append(tenant)
    config["muster:queues"]["clusterQueues"] += team["muster:queues"]["clusterQueues"]
    config["muster:pools"][0]["nodes"] = {"min": 2, "max": 3}
    config["muster:controller"]["logLevel"] = "debug"
    path = tmp_path / SOURCE.name
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def queue_of_team_b(cluster: Cluster) -> Iterator[None]:
    """ClusterQueue team-b, which docs/drift.md edits by hand, as it was."""
    before = cluster.client.get(kinds.ClusterQueue, "team-b")["spec"]
    yield
    cluster.client.patch(kinds.ClusterQueue, "team-b", {"spec": before}, patch_type=PatchType.MERGE)


def static_nodes(cluster: Cluster) -> list[str]:
    nodes = cluster.client.list(kinds.Node, labels={"cloud.google.com/gke-nodepool": "system"})
    return sorted(node["metadata"]["name"] for node in nodes)


@pytest.mark.thorough
def test_a_team_is_added_while_a_job_runs_and_the_commands_of_the_docs_work(
    cluster: Cluster,
    edited: Path,
    queue_of_team_b: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = rayjob("stays")
    outlast_the_commands(job)
    name = cluster.submit(job)
    cluster.until(f"{name} running", lambda: bool(cluster.pods(name)))
    pods = {pod["metadata"]["uid"] for pod in cluster.pods(name)}
    controller = running(cluster.state)
    assert controller is not None
    capsys.readouterr()

    apply(cluster.state, edited)

    output = capsys.readouterr().out
    assert output.index("+     ClusterQueue vision") < output.index("pulumi up: carries out the plan")
    assert output.endswith(f"sandbox {cluster.state.name}: the current stack file is deployed\n")
    assert static_nodes(cluster) == ["gke-system-0", "gke-system-1", "gke-system-2"]
    now = running(cluster.state)
    assert now is not None
    assert now.pid != controller.pid
    assert "--log-level=debug" in now.cmdline()
    assert {pod["metadata"]["uid"] for pod in cluster.pods(name)} >= pods

    type_the_docs_commands(cluster, tmp_path)

    for other in cluster.client.list(kinds.RayJob, namespace="*"):
        if other["metadata"]["name"] != name:
            kinds.delete(cluster.client, kinds.RayJob, other)
    cluster.until("no pods but the job's own", lambda: pods_of_others(cluster, name) == [])
    apply(cluster.state)
    assert static_nodes(cluster) == ["gke-system-0", "gke-system-1"]
    assert {pod["metadata"]["uid"] for pod in cluster.pods(name)} >= pods


def pods_of_others(cluster: Cluster, job: str) -> list[str]:
    """Names of the pods of other jobs; the controller's Deployment has some too."""
    teams = [pod for n in (NAMESPACE, "vision") for pod in cluster.client.list(kinds.Pod, namespace=n)]
    names = [pod["metadata"]["name"] for pod in teams]
    return [name for name in names if not name.startswith(job)]


def type_the_docs_commands(cluster: Cluster, folder: Path) -> None:
    """Runs them in a shell that evaluated `make env`, with the paths in docs."""
    copy_examples(folder)
    (job,) = (shown for shown in shown_in_yaml(TEAM) if shown.get("kind") == "RayJob")
    outlast_the_commands(job)
    # made by `identity`, which needs Google Cloud
    del job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["serviceAccountName"]
    (folder / "train.yaml").write_text(yaml.safe_dump(job))
    created, _, later_commands = commands(TEAM).partition("\n")
    type_in(cluster, folder, created)
    services = partial(cluster.client.list, kinds.Service, namespace="vision")
    cluster.until("a Ray cluster", lambda: any(services()))  # its Secret comes before its Service
    pages = [later_commands if page == TEAM else commands(page) for page in PAGES]
    type_in(cluster, folder, FORWARD.sub(r"kubectl get \1 \2", "\n".join(pages)))


def copy_examples(folder: Path) -> None:
    """Copies the examples, with jobs that outlast the commands."""
    examples = shutil.copytree(CHECKOUT / "examples", folder / "examples")
    for path in examples.glob("*.rayjob.yaml"):
        manifests = list(yaml.safe_load_all(path.read_text()))
        for job in (manifest for manifest in manifests if manifest["kind"] == "RayJob"):
            outlast_the_commands(job)
        path.write_text(yaml.safe_dump_all(manifests))


def outlast_the_commands(job: Manifest) -> None:
    """Sets the job's duration. `kubectl describe node` gets each node that it listed before, so it fails if
    the end of a job deletes one of them in between."""
    job["metadata"].setdefault("annotations", {})["sandbox.muster.dev/run-seconds"] = "600"


def type_in(cluster: Cluster, folder: Path, script: str) -> None:
    """Runs a script in bash, in a folder, after `eval "$(make env)"`; it fails with its first command."""
    name = cluster.state.name
    shell = f"""set -eo pipefail
eval "$(cd {CHECKOUT} && make env NAME={name})"
test "$(command -v kubectl)" = {cluster.state.root}/bin/kubectl
{script}
"""
    done = subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


def test_the_shell_has_the_sandboxs_pulumi_and_make_and_the_packages_muster(cluster: Cluster) -> None:
    running_now = f"^sandbox {cluster.state.name}: engine muster, up for .*, metrics at http://127.0.0.1:"
    commands = (
        "pulumi stack ls | grep '^local '",
        f"make status | grep '{running_now}'",
        "muster controller --help",
    )
    type_in(cluster, CHECKOUT, "\n".join(commands))
