"""`apply`: shows the plan for the current stack file, and deploys it to a running sandbox."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from muster.objects.names import REQUEST_LABEL
from preview.plan import ResourceChange
from preview.preview import show
from sandbox.cluster import kinds
from sandbox.cluster.control_plane import create_nodes
from sandbox.cluster.controller_process import update_controller
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import node_changes, static_nodes, surplus
from sandbox.cluster.operators import update_provisioner
from sandbox.cluster.processes import Processes
from sandbox.deployment import deploy, pulumi_cli
from sandbox.running import engine_of, has_real_nodes, named, only_run, require_api, unfinished_jobs
from sandbox.stack_file import SOURCE, STACK, deployed, read
from tools.toolchain.console import console
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, Step, StepError, run_steps

NAMESPACE = "kubernetes:core/v1:Namespace"


def apply(state: RunState, source: Path = SOURCE) -> None:
    """Deploys the stack file, and updates the nodes and processes that depend on it; jobs keep running.

    Raises StepError if the sandbox is not up, the file is invalid, or the plan would delete jobs.
    """
    with only_run(state):
        require_api(state)
        update = _Update(state, engine_of(state), source)
        run_steps(update.steps(), update.screen)
        result = "the current stack file is deployed" if update.changed else "no change"
        update.screen.line(f"sandbox {state.name}: {result}")


class _Update:
    """The deployment of a stack file to a sandbox. Each step can be repeated after an interruption."""

    def __init__(self, state: RunState, engine: str, source: Path) -> None:
        self.state, self.engine, self.source = state, engine, source
        self.screen = Screen()
        self.changed = False
        self.real_nodes = has_real_nodes(state)
        self.stack_file = read(engine, source, real_nodes=self.real_nodes)
        self.next_file = state.root / "next.yaml"
        self.stack_file.write(self.next_file)
        tools = ensure_tools(["pulumi", "kubectl"], self.screen)
        self.kubectl = Kubectl(tools["kubectl"].path, state.kubeconfig)
        self.stack = pulumi_cli(state, tools["pulumi"].path).select(STACK, self.next_file)

    def steps(self) -> list[Step]:
        """Returns the steps in order; the last one saves the stack file as deployed."""
        return [
            Step("plan", f"{self.source.name} with engine {self.engine}", self.plan),
            Step("pulumi up", "carries out the plan", self.pulumi_up),
            Step("nodes", "nodes of pools that are not queued", self.nodes),
            Step("processes", "processes that the stack file configures", self.processes),
        ]

    def plan(self) -> str:
        """Shows what `pulumi up` would do; refuses to delete namespaces with jobs."""
        with self.screen.activity(lambda elapsed: f"  {elapsed:.0f} s"):
            outcome = self.stack.preview()
        planned = sum(change.op != "same" for change in outcome.changes)
        if planned:
            show("Plan", outcome, console())
            keep_jobs(self.state, outcome.changes)
        self.changed = bool(planned)
        return f"{planned} resources to change" if planned else "no change"

    def pulumi_up(self) -> str:
        """Carries out the plan."""
        if not self.changed:
            return "nothing to do"
        return deploy(self.stack, self.screen)

    def nodes(self) -> str:
        """Creates, updates and deletes nodes of static pools; nodes with pods of jobs are only cordoned."""
        if self.real_nodes:
            again = self.state.command("up", NODES="real", FRESH="1")
            return f"real nodes are those of the start; {again} starts others"
        existing = [
            node
            for node in self.kubectl.objects("nodes")
            if REQUEST_LABEL not in node["metadata"].get("labels", {})
        ]
        desired = static_nodes(self.stack_file.settings.pools)
        if obsolete := surplus(existing, desired):
            # First, so that no pod is scheduled to a node that is about to be deleted.
            self.kubectl.run("cordon", *obsolete)
        pods = self.kubectl.objects("pods", "--field-selector=status.phase!=Succeeded,status.phase!=Failed")
        changes = node_changes(existing, desired, pods_on_nodes(pods))
        for pod in pods:
            if pod["spec"].get("nodeName") in changes.delete:
                namespace, name = kinds.key(pod)
                self.kubectl.run("delete", "pod", name, "-n", namespace, "--wait=false")
        if changes.delete:
            self.kubectl.run("delete", "nodes", *changes.delete)
        if changes.update:
            self.kubectl.replace(changes.update)
        if changes.create:
            create_nodes(self.kubectl, list(changes.create))
        self.changed |= bool(changes)
        return str(changes)

    def processes(self) -> str:
        """Saves the stack file as deployed, and restarts processes that were started with an older file."""
        file = deployed(self.state)
        if file.read_bytes() == self.next_file.read_bytes():
            self.next_file.unlink()
        else:
            self.next_file.touch()  # newer than every process that read the former file
            self.next_file.replace(file)
            self.changed = True
        running = Processes(self.state)
        restarted = ["provisioner"] if update_provisioner(running, file) else []
        if self.engine == "muster" and not self.real_nodes and update_controller(self.state, self.kubectl):
            restarted.append("controller")
        self.changed |= bool(restarted)
        return f"{', '.join(restarted)} restarted" if restarted else "no change"


def pods_on_nodes(pods: Iterable[kinds.Object]) -> dict[str, list[str]]:
    """Returns the names of pods by node, except pods that a ReplicaSet recreates on another node."""
    names: dict[str, list[str]] = {}
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or []
        if not any(owner["kind"] == "ReplicaSet" for owner in owners):
            names.setdefault(pod["spec"].get("nodeName", ""), []).append("/".join(kinds.key(pod)))
    return names


def keep_jobs(state: RunState, changes: Iterable[ResourceChange]) -> None:
    """Raises StepError if the changes delete a namespace with unfinished jobs."""
    deleted = {
        str(change.before["metadata"]["name"])
        for change in changes
        if change.type == NAMESPACE and change.op in ("delete", "replace")
    }
    if not deleted:
        return
    with closing(kinds.connect(state.kubeconfig)) as client:
        jobs = [(kind, obj) for kind, obj in unfinished_jobs(client) if kinds.key(obj)[0] in deleted]
    if jobs:
        raise StepError(
            f"the plan deletes namespace {', '.join(sorted(deleted))}, including "
            f"{named(jobs)}; nothing was changed",
            try_this="keep the tenant in the stack file, or delete its jobs with kubectl first",
        )
