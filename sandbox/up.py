"""`up`: the named steps from nothing to a running environment, and `down`, which leaves nothing running."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from preview.pulumi_cli import PulumiCli
from sandbox.bootstrap import SECONDS_VARIABLE, exclusive
from sandbox.cluster import kai_process, kueue_process
from sandbox.cluster.control_plane import create_crds, create_nodes, start_control_plane
from sandbox.cluster.controller_process import start_controller
from sandbox.cluster.crds import ensure_crds
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import standing_nodes
from sandbox.cluster.operators import start_operators
from sandbox.cluster.processes import Processes
from sandbox.scenarios import play
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.serving import serving
from sandbox.toolchain.ensure import ensure_tools
from sandbox.toolchain.paths import CHECKOUT, RunState
from sandbox.toolchain.steps import Screen, Step, StepError, Timing, run_steps, save_timings
from sandbox.toolchain.tools import tools_for
from settings.load import SettingsError, load

STACK = "local"
SOURCE = CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml"
# What each engine is shown with. The jobs' nodes are provisioned for them, which KAI can't ask for.
SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "muster": (JOBS, serving("muster")),
    "kueue": (JOBS, serving("kueue")),
    "kai": (serving("kai"),),
}
ENGINES = tuple(SCENARIOS)
KAI_SCHEDULER = "kai-scheduler"


@dataclass
class Environment:
    """One sandbox on its way up: each step uses what the steps before it made."""

    state: RunState
    engine: str
    screen: Screen = field(default_factory=Screen)
    tools: dict[str, Path] = field(default_factory=dict)

    @property
    def kubectl(self) -> Kubectl:
        """kubectl for the administrator; needs the tools."""
        return Kubectl(self.tools["kubectl"], self.state.kubeconfig)

    @property
    def stack_file(self) -> Path:
        """The settings that this sandbox runs: stack local with the engine asked for."""
        return self.state.root / f"Pulumi.{STACK}.yaml"

    def steps(self, with_scenario: bool) -> list[Step]:
        """Every step in order; without the scenario the environment is left empty of jobs."""
        engine = {
            "muster": "the controller under its own ServiceAccount",
            "kueue": "the real Kueue",
            "kai": "the real KAI Scheduler",
        }
        and_kai = ", KAI's" if self.engine == "kai" else ""
        steps = [
            Step("settings", f"stack {STACK} with engine {self.engine}", self.settle),
            Step("tools", "those not on PATH or in the cache are built, see below", self.prepare_tools),
            Step(
                "control plane", "etcd, API server, controller manager, scheduler, kwok", self.control_plane
            ),
            Step("CRDs", f"KubeRay's, Kueue's and ProvisioningRequest{and_kai}", self.crds),
            Step("nodes", "those of the stack's pools that are not queued", self.nodes),
            Step("operators", "KubeRay, stand-ins for Ray's dashboard and GKE's autoscaler", self.operators),
            Step("pulumi up", f"stack {STACK}, the same program as every other stack", self.pulumi_up),
            Step("admission", engine[self.engine], self.admission),
        ]
        if with_scenario:
            steps += [
                Step(f"scenario: {s.name}", s.says, partial(self.play, s)) for s in SCENARIOS[self.engine]
            ]
        return steps

    def settle(self) -> str:
        """Removes an earlier sandbox of this name and writes the settings of this one."""
        stop(self.state)
        shutil.rmtree(self.state.root, ignore_errors=True)
        self.state.make()
        content, changes = stack_for(self.engine)
        self.stack_file.write_text(yaml.safe_dump(content, sort_keys=False))
        try:
            pools = load(self.stack_file).pools
        except SettingsError as error:
            raise StepError(str(error), try_this=f"mend {SOURCE}") from error
        return "; ".join([f"{len(pools)} pools: {', '.join(pool.name for pool in pools)}", *changes])

    def prepare_tools(self) -> str:
        """Finds or builds what this engine needs."""
        found = ensure_tools(tools_for(self.engine), self.screen)
        self.tools = {name: tool.path for name, tool in found.items()}
        sources = [tool.source for tool in found.values()]
        said = {"built": "built", "cache": "from the cache", "PATH": "from PATH"}
        return ", ".join(f"{sources.count(source)} {said[source]}" for source in sorted(set(sources)))

    def control_plane(self) -> str:
        """Starts Kubernetes."""
        start_control_plane(self.state, Processes(self.state), self.tools)
        return "ready"

    def crds(self) -> str:
        """Serves the custom resources."""
        return f"{create_crds(self.kubectl, ensure_crds(self.engine))} served"

    def nodes(self) -> str:
        """Simulates the standing nodes."""
        nodes = standing_nodes(load(self.stack_file).pools)
        create_nodes(self.kubectl, nodes)
        return f"{len(nodes)} Ready"

    def operators(self) -> str:
        """Starts KubeRay and the stand-ins."""
        scheduler = KAI_SCHEDULER if self.engine == "kai" else ""
        start_operators(self.state, self.tools["ray-operator"], self.stack_file, scheduler)
        return "ready"

    def pulumi_up(self) -> str:
        """Runs the real Pulumi program against this cluster."""
        cli = PulumiCli(self.tools["pulumi"], self.state.root, env={"KUBECONFIG": str(self.state.kubeconfig)})
        lines = [""]
        with self.screen.activity(lambda elapsed: f"  {elapsed:.0f} s: {lines[-1]}"):
            outcome = cli.select(STACK, self.stack_file).up(lines.append)
        return ", ".join(f"{count} to {op}" for op, count in sorted(outcome.counts.items())) or "no change"

    def admission(self) -> str:
        """Starts what admits the gangs."""
        processes = Processes(self.state)
        if self.engine == "kueue":
            kueue_process.start(processes, self.tools["kueue"], self.state.kubeconfig)
        elif self.engine == "kai":
            kai_process.start(processes, self.tools, self.state.kubeconfig)
        else:
            start_controller(self.state, self.kubectl)
        return "running"

    def play(self, scenario: Scenario) -> str:
        """Submits the scenario's examples and judges what happened."""
        processes = Processes(self.state)
        names = {"muster": ("controller",), "kueue": ("kueue",), "kai": kai_process.SERVICES}[self.engine]

        def alive() -> None:
            for name in names:
                processes.check(name)

        if not play.run(scenario, self.state.kubeconfig, CHECKOUT / "examples", self.screen.out, check=alive):
            for name in processes.table():
                processes.check(name)  # one that ended is the likely reason
            raise StepError(
                "not everything happened, or not in that order: see the table above",
                log=self.state.logs,
                try_this=f"make status, and read the log of {names[0]} there",
            )
        return "everything happened, in that order"


def stack_for(engine: str) -> tuple[dict[str, Any], list[str]]:
    """Return the content of the stack file as it is now, for this engine, and what else that changes."""
    content: dict[str, Any] = yaml.safe_load(SOURCE.read_text())
    return content, settings_for(engine, content["config"])


def settings_for(engine: str, config: dict[str, Any]) -> list[str]:
    """Makes the stack's settings those of this engine; says what else that changes.

    KAI makes no ProvisioningRequests, so that nothing would bring nodes to a queued pool.
    """
    config["muster:admission"]["engine"] = engine
    if engine != "kai":
        return []
    queued = [pool for pool in config["muster:pools"] if pool.get("provisioning") == "queued"]
    for pool in queued:
        pool["provisioning"] = "on-demand"
    return [f"{pool['name']} on demand instead of queued, as KAI needs it" for pool in queued]


def up(state: RunState, engine: str, with_scenario: bool = True) -> None:
    """Brings the sandbox up, one step after the other. Raises StepError (already printed) if one fails."""
    environment = Environment(state, engine)
    before = [Timing("environment", float(os.environ.get(SECONDS_VARIABLE, "0")))]
    with only_run(state):
        timings = run_steps(environment.steps(with_scenario), environment.screen, before)
        save_timings(state.timings, timings, {"engine": engine, "cores": os.cpu_count()})
    look = "podgroups" if engine == "kai" else "workloads"
    environment.screen.line(f"\nIt runs. Look at it with:\n  {environment.kubectl.command} get {look} -A")
    name = "" if state == RunState() else f" NAME={state.name}"
    environment.screen.line(f"  make status{name}\nand stop it with:\n  make down{name}")


def down(state: RunState) -> None:
    """Stops everything of this sandbox and removes it; its logs and timings stay.

    Raises StepError where there never was one of this name.
    """
    names = existing_names(state.checkout)
    if state.name not in names:
        there_are = f"there are {', '.join(names)}" if names else "there is none"
        remedy = f"make down NAME={names[0]}" if names else ""
        raise StepError(f"no sandbox {state.name!r} in {state.checkout}; {there_are}", try_this=remedy)
    with only_run(state):
        stop(state)
        if state.root.is_dir():
            for path in state.root.iterdir():
                if path not in (state.logs, state.timings):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def existing_names(checkout: Path) -> list[str]:
    """Return the names of the checkout's sandboxes: those that were brought up, stopped ones included."""
    kept = [path for name in ("processes", "timings.json") for path in checkout.glob(f".muster/*/{name}")]
    return sorted({path.parent.name for path in kept})


def stop(state: RunState) -> None:
    """Stops every process of this sandbox. Raises StepError if one is left."""
    if left := Processes(state).stop_everything():
        raise StepError(f"still running after SIGKILL: {', '.join(left)}", try_this="look at them with ps")


@contextmanager
def only_run(state: RunState) -> Iterator[None]:
    """Keeps two runs from working on the same sandbox at once."""
    with exclusive(state.root.with_suffix(".lock"), f"or stops sandbox {state.name}"):
        yield
