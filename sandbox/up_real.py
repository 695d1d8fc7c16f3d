"""`up` with real nodes: pods run, and the controller, its page and KubeRay are among them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from sandbox.cluster.control_plane import start_control_plane, wait_for_quotas
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.operators import start_provisioner
from sandbox.cluster.processes import Processes
from sandbox.cluster.volumes import create_volumes
from sandbox.realnodes.environment import RealNodes
from sandbox.running import engine_of, only_run, require_api
from sandbox.scenario import EXAMPLES, require_no_jobs
from sandbox.scenarios import (
    batch_in_pods,
    elastic_in_pods,
    job_in_pods,
    resize_in_pods,
    training_in_pods,
)
from sandbox.scenarios.milestones import Scenario
from sandbox.stack_file import StackFile, read
from sandbox.up import KAI_SCHEDULER, Environment, create
from settings.load import load
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, Step, StepError, run_steps
from tools.toolchain.tools import NODE_TOOLS

JOB, TRAINING, ELASTIC, RESIZE, BATCH = "job", "training", "elastic", "resize", "batch"
SCENARIOS = {
    "muster": (JOB, TRAINING, ELASTIC, RESIZE),
    "kueue": (JOB, BATCH, TRAINING),
    "kai": (JOB, BATCH),
}
"""The scenarios of each engine; `up` plays the first, which takes a minute where the others take several.
With KAI, a preempted RayJob is not restarted."""
_SUMMARIES = {
    JOB: "a RayJob is admitted whole, and prints its result",
    TRAINING: "preempted in real pods, resumes from its checkpoint",
    ELASTIC: "Ray's autoscaler grows a job into free quota, and returns workers to production",
    RESIZE: "a worker is resized in place within its quota, and not beyond",
    BATCH: "of two jobs in real pods, the queue fits one at a time",
}


@dataclass
class RealEnvironment(Environment):
    """The creation of a sandbox with real nodes."""

    real: RealNodes = field(init=False)
    names: Sequence[str] = ()

    OPERATORS: ClassVar = "KubeRay in a pod, a stand-in for GKE's autoscaler"

    def __post_init__(self) -> None:
        self.real = RealNodes(self.state, self.screen, self.engine)

    def steps(self, scenarios: Sequence[Scenario]) -> list[Step]:
        """Returns the steps in order; `scenarios` are those of simulated nodes, and must be empty."""
        steps = super().steps(())
        images = Step("images", "Ray, operators, the controller; without a container engine", self.images)
        after = next(i for i, step in enumerate(steps) if step.name == "tools") + 1
        steps.insert(after, images)
        return [*steps, *(_scenario(name, partial(self.play_in_pods, name)) for name in self.names)]

    def settle(self, scenarios: Sequence[Scenario]) -> str:
        """Checks the machine before anything is replaced or built."""
        self.real.check()
        return super().settle(scenarios)

    def read(self) -> StackFile:
        """Returns the stack file, fitted to real nodes."""
        return read(self.engine, self.source, real_nodes=True)

    def tool_names(self) -> tuple[str, ...]:
        """Returns the tools of the engine and of the nodes."""
        return (*super().tool_names(), *NODE_TOOLS, *(("helm",) if self.engine == "kueue" else ()))

    def images(self) -> str:
        """Builds what the nodes need and the cache lacks."""
        return self.real.prepare()

    def control_plane(self) -> str:
        """Starts a control plane that real nodes can join."""
        start_control_plane(self.state, Processes(self.state), self.tools, self.real.network)
        return "ready"

    def nodes(self) -> str:
        """Starts a real node for each node of pools that are not queued."""
        names = self.real.start(self.kubectl, self.tools, load(self.stack_file).pools)
        create_volumes(self.kubectl, self.state.volumes, writable=True)
        return f"{', '.join(names)} Ready"

    def operators(self) -> str:
        """Starts KubeRay in a pod, and the stand-in for GKE's queued provisioning."""
        start_provisioner(Processes(self.state), self.stack_file)
        scheduler = KAI_SCHEDULER if self.engine == "kai" else ""
        self.real.deploy_kuberay(self.kubectl, load(self.stack_file).kuberay, scheduler)
        return f"KubeRay runs in a pod{self.start_job_operators()}"

    def admission(self) -> str:
        """Waits for the engine that admits gangs."""
        if self.engine == "kai":
            return f"{super().admission()} as processes of the machine"
        wait_for_quotas(self.kubectl)
        if self.engine == "muster":
            replicas = self.real.wait_for_controller(self.kubectl)
        else:
            settings = load(self.stack_file).kueue
            replicas = self.real.deploy_kueue(self.kubectl, self.tools["helm"], settings)
        return f"{replicas} replicas run in pods"

    def page(self) -> str:
        """Waits for the page's pod, which `pulumi up` declares next to the controller."""
        if self.engine != "muster":
            return super().page()
        return self.real.open_page(self.kubectl)

    def play_in_pods(self, name: str) -> str:
        """Plays a scenario, whose jobs run in real pods."""
        return _play(name, self.engine, self.kubectl, self.screen)


def scenarios_on_real_nodes(state: RunState, name: str | None = None) -> None:
    """Plays a scenario again, or all of the engine's. Raises StepError for an unknown name, or if the sandbox
    has other jobs."""
    engine = engine_of(state)
    names = SCENARIOS[engine] if name is None else chosen_on_real_nodes(engine, name)
    with only_run(state):
        require_api(state)
        require_no_jobs(state)
        screen = Screen()
        kubectl = Kubectl(ensure_tools(["kubectl"], screen)["kubectl"].path, state.kubeconfig)
        run_steps([_scenario(name, partial(_play, name, engine, kubectl, screen)) for name in names], screen)


def up_real(
    state: RunState,
    engine: str,
    scenarios: Sequence[str],
    *,
    fresh: bool = False,
    real_ray: bool = False,
) -> None:
    """Creates a sandbox with real nodes, and plays these scenarios.

    Raises StepError if a step fails, if the options contradict each other, or if the sandbox is up and
    `fresh` is not set.
    """
    if real_ray:
        raise StepError(
            "RAY=real is for simulated nodes; on real nodes, pods run Ray",
            try_this=state.command("up", NODES="real"),
        )
    environment = RealEnvironment(state, engine, names=scenarios)
    create(environment, environment.steps(()), fresh=fresh)


def chosen_on_real_nodes(engine: str, name: str | None) -> tuple[str, ...]:
    """Returns the engine's scenario with this name; its first one if it is None. Raises StepError for an
    unknown name."""
    names = SCENARIOS[engine]
    if name is None:
        return names[:1]
    if name not in names:
        raise StepError(
            f"engine {engine} has no scenario {name!r} on real nodes",
            try_this=f"SCENARIO= one of: {', '.join(names)}",
        )
    return (name,)


def _scenario(name: str, play: Callable[[], str]) -> Step:
    return Step(f"scenario: {name}", _SUMMARIES[name], play)


def _play(name: str, engine: str, kubectl: Kubectl, screen: Screen) -> str:
    plays: dict[str, Callable[[Kubectl, Path, Screen], str]] = {
        JOB: job_in_pods.play,
        TRAINING: partial(training_in_pods.play, exclusive=engine == "muster"),
        ELASTIC: elastic_in_pods.play,
        RESIZE: resize_in_pods.play,
        BATCH: batch_in_pods.play,
    }
    return plays[name](kubectl, EXAMPLES, screen)
