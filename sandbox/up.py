"""`up`, the steps that create a sandbox, and `down`, which removes it."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from preview.pulumi_cli import SAVED_ONCE
from sandbox.cluster import job_operators, kai_process, kueue_process
from sandbox.cluster.control_plane import create_crds, create_nodes, start_control_plane, wait_for_quotas
from sandbox.cluster.controller_process import start_controller
from sandbox.cluster.job_operators import JOB_OPERATORS
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import static_nodes
from sandbox.cluster.operators import start_operators
from sandbox.cluster.page_process import ENGINES as WITH_PAGE
from sandbox.cluster.page_process import page_address, start_page
from sandbox.cluster.processes import Processes
from sandbox.cluster.volumes import create_volumes
from sandbox.deployment import deploy, pulumi_cli
from sandbox.realnodes.cluster import interfaces, remove_leftovers
from sandbox.running import existing_names, only_run, require_unused
from sandbox.scenario import EXAMPLES, SCENARIOS, play_scenario
from sandbox.scenarios import resumed_training, runner
from sandbox.scenarios.fit import fit
from sandbox.scenarios.milestones import Scenario
from sandbox.stack_file import SOURCE, STACK, StackFile, deployed, read
from settings.load import load
from tools.bootstrap import SECONDS_VARIABLE
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.python_environments import python_with
from tools.toolchain.steps import Screen, Step, StepError, Timing, run_steps, save_timings
from tools.toolchain.tools import tools_for

KAI_SCHEDULER = "kai-scheduler"


@dataclass
class Environment:
    """The creation of a sandbox; each step uses the results of earlier steps."""

    state: RunState
    engine: str
    source: Path = SOURCE
    real_ray: bool = False
    screen: Screen = field(default_factory=Screen)
    tools: dict[str, Path] = field(default_factory=dict)
    ray: Path | None = None

    OPERATORS: ClassVar = "KubeRay, stand-ins for Ray's dashboard and GKE's autoscaler"

    @property
    def kubectl(self) -> Kubectl:
        """The administrator's kubectl; requires the tools."""
        return Kubectl(self.tools["kubectl"], self.state.kubeconfig)

    @property
    def stack_file(self) -> Path:
        """The deployed stack file: stack local with the chosen engine."""
        return deployed(self.state)

    def steps(self, scenarios: Sequence[Scenario]) -> list[Step]:
        """Returns the steps in order. Without scenarios, no jobs are submitted."""
        engine = {
            "muster": "the controller, with its ServiceAccount",
            "kueue": "the real Kueue",
            "kai": "the real KAI Scheduler",
        }
        and_kai = ", KAI's" if self.engine == "kai" else ""
        steps = [
            Step("settings", f"stack {STACK} with engine {self.engine}", partial(self.settle, scenarios)),
            Step(
                "tools",
                "obtains those that are neither on PATH nor in the cache",
                self.prepare_tools,
            ),
            Step(
                "control plane", "etcd, API server, controller manager, scheduler, kwok", self.control_plane
            ),
            Step("CRDs", f"KubeRay's, Kueue's and ProvisioningRequest{and_kai}", self.crds),
            Step("nodes", "nodes of the stack's pools that are not queued; volumes for claims", self.nodes),
            Step("operators", self.OPERATORS, self.operators),
            Step("pulumi up", f"stack {STACK}, with the same program as all stacks", self.pulumi_up),
            Step("admission", engine[self.engine], self.admission),
        ]
        if self.engine in WITH_PAGE:
            steps.append(Step("page", "queues and workloads in a browser, live", self.page))
        steps += [Step(f"scenario: {s.name}", s.summary, partial(self.play, s)) for s in scenarios]
        if self.real_ray:
            steps.insert(
                2,
                Step("Ray", "packages of requirements/ray.lock, in a separate environment", self.install_ray),
            )
        return steps

    def settle(self, scenarios: Sequence[Scenario]) -> str:
        """Writes the settings of this sandbox, and removes a former sandbox with the same name.

        Before that, raises StepError for settings that are invalid or too small for a scenario.
        """
        stack_file = self.read()
        without_jobs = self.state.command("up", ENGINE=self.engine, SCENARIO="no")
        remedy = f"change that in {self.source}, or {without_jobs}"
        for scenario in scenarios:
            fit(scenario, runner.read_examples(scenario, EXAMPLES), stack_file.settings, remedy)
        stop(self.state)
        shutil.rmtree(self.state.root, ignore_errors=True)
        self.state.make()
        stack_file.write(self.stack_file)
        pools = [pool.name for pool in stack_file.settings.pools]
        return "; ".join([f"{len(pools)} pools: {', '.join(pools)}", *stack_file.changes])

    def read(self) -> StackFile:
        """Returns the stack file with the chosen engine. Raises StepError with its problems."""
        return read(self.engine, self.source)

    def tool_names(self) -> tuple[str, ...]:
        """Returns the names of the tools that this sandbox runs."""
        return (*tools_for(self.engine), *self.job_operators)

    @property
    def job_operators(self) -> tuple[str, ...]:
        """The controllers of other jobs that the stack relies on, which then run as processes."""
        settings = load(self.stack_file)
        installs = {"jobset": settings.jobset.install, "lws": settings.lws.install}
        return tuple(name for name, install in installs.items() if install == "existing")

    def prepare_tools(self) -> str:
        """Finds, downloads or builds the tools."""
        tools = ensure_tools(self.tool_names(), self.screen)
        self.tools = {name: tool.path for name, tool in tools.items()}
        sources = [tool.source for tool in tools.values()]
        labels = {
            "built": "built",
            "downloaded": "downloaded",
            "cache": "from the cache",
            "PATH": "from PATH",
        }
        return ", ".join(f"{sources.count(source)} {labels[source]}" for source in sorted(set(sources)))

    def install_ray(self) -> str:
        """Installs Ray, unless it is in the cache."""
        self.ray = python_with("ray")
        return str(self.ray.parents[1])

    def control_plane(self) -> str:
        """Starts the control plane."""
        start_control_plane(self.state, Processes(self.state), self.tools)
        return "ready"

    def crds(self) -> str:
        """Creates the CustomResourceDefinitions."""
        return f"{create_crds(self.kubectl, ensure_crds(self.engine, *self.job_operators))} served"

    def nodes(self) -> str:
        """Creates simulated nodes of pools that are not queued, and volumes."""
        nodes = static_nodes(load(self.stack_file).pools)
        create_nodes(self.kubectl, nodes)
        create_volumes(self.kubectl, self.state.volumes)
        return f"{len(nodes)} Ready"

    def operators(self) -> str:
        """Starts KubeRay and the stand-ins."""
        scheduler = KAI_SCHEDULER if self.engine == "kai" else ""
        start_operators(self.state, self.tools["ray-operator"], self.stack_file, scheduler, self.ray)
        return f"ready{self.start_job_operators()}"

    def start_job_operators(self) -> str:
        """Starts the real controllers of other jobs that the stack relies on; returns a note on them."""
        started = [JOB_OPERATORS[name] for name in self.job_operators]
        for operator in started:
            job_operators.start(Processes(self.state), operator, self.tools[operator.name], self.kubectl)
        return "".join(f", with the real {operator.title} controller" for operator in started)

    def pulumi_up(self) -> str:
        """Deploys the Pulumi program to this cluster."""
        # Saved only once: after an interruption, `up` starts with an empty cluster and an empty state.
        cli = pulumi_cli(self.state, self.tools["pulumi"], **SAVED_ONCE)
        return deploy(cli.select(STACK, self.stack_file), self.screen)

    def admission(self) -> str:
        """Starts the engine that admits gangs."""
        wait_for_quotas(self.kubectl)
        processes = Processes(self.state)
        if self.engine == "kueue":
            kueue_process.start(processes, self.tools["kueue"], self.state.kubeconfig)
        elif self.engine == "kai":
            kai_process.start(processes, self.tools, self.state.kubeconfig)
        else:
            start_controller(self.state, self.kubectl)
        return "running"

    def page(self) -> str:
        """Starts the page."""
        return start_page(self.state)

    def resume(self) -> str:
        """Preempts a training job that Ray executes, and checks that it resumes from its checkpoint."""
        return resumed_training.play(self.state, self.kubectl, EXAMPLES, self.screen)

    def play(self, scenario: Scenario) -> str:
        """Submits the scenario's examples, and checks its milestones."""
        return play_scenario(self.state, self.engine, scenario, self.screen)


def up(
    state: RunState,
    engine: str,
    scenarios: Sequence[Scenario] | None = None,
    *,
    fresh: bool = False,
    source: Path = SOURCE,
    real_ray: bool = False,
) -> None:
    """Creates the sandbox and plays these scenarios, by default the engine's.

    With a real Ray, the default is a training job that is preempted and resumes. Raises StepError if a step
    fails (already printed), or if the sandbox is up and `fresh` is not set.
    """
    if real_ray and engine == "kai":
        raise StepError(
            "with engine kai, a preempted RayJob is not restarted",
            try_this=state.command("up", RAY="real"),
        )
    environment = Environment(state, engine, source, real_ray)
    by_default = () if real_ray else SCENARIOS[engine]
    steps = environment.steps(by_default if scenarios is None else scenarios)
    if real_ray and scenarios is None:
        steps.append(Step("training resumes", "a preempted job, executed by Ray", environment.resume))
    create(environment, steps, fresh=fresh)


def create(environment: Environment, steps: Sequence[Step], *, fresh: bool) -> None:
    """Runs the steps that create the sandbox, and prints how to use it."""
    state, engine = environment.state, environment.engine
    before = [Timing("environment", float(os.environ.get(SECONDS_VARIABLE, "0")))]
    with only_run(state):
        if not fresh:
            require_unused(state, engine)
        timings = run_steps(steps, environment.screen, before)
        save_timings(state.timings, timings, {"engine": engine, "cores": os.cpu_count()})
    look = "kubectl get podgroups -A" if engine == "kai" else "muster queue -A"
    environment.screen.line(
        f"\nThe sandbox is up. To use kubectl, pulumi and muster in this shell:\n  {enter(state)}\n"
        f"  {look}\n{_page_lines(state)}"
        "To inspect it, deploy the edited stack file, and stop it:\n"
        f"  {state.command('status')}\n  {state.command('apply')}\n  {state.command('down')}"
    )


def _page_lines(state: RunState) -> str:
    """Returns lines with the address of the page; empty without a page."""
    address = page_address(state)
    return f"Queues and workloads in a browser:\n  {address}\n" if address else ""


def enter(state: RunState) -> str:
    """Returns the command that adds the sandbox's tools to a shell's PATH."""
    return f'eval "$({state.command("env")})"'


def down(state: RunState) -> None:
    """Stops and removes this sandbox, except its logs and timings.

    Raises StepError if no sandbox with this name exists.
    """
    names = existing_names(state.checkout)
    if state.name not in names:
        existing = f"existing: {', '.join(names)}" if names else "there are no sandboxes"
        remedy = RunState(names[0], state.checkout).command("down") if names else ""
        raise StepError(f"no sandbox {state.name!r} in {state.checkout}; {existing}", try_this=remedy)
    with only_run(state):
        stop(state)
        if state.root.is_dir():
            for path in state.root.iterdir():
                if path not in (state.logs, state.timings):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def stop(state: RunState) -> None:
    """Stops all processes of this sandbox. Raises StepError if any still runs."""
    of_network = interfaces(state)
    if remaining := Processes(state).stop_everything():
        raise StepError(
            f"still running after SIGKILL: {', '.join(remaining)}", try_this="inspect them with ps"
        )
    remove_leftovers(state, of_network)
