"""`up` with real nodes: pods run, and the controller, its page and KubeRay are among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.cluster.control_plane import start_control_plane, wait_for_quotas
from sandbox.cluster.operators import start_provisioner
from sandbox.cluster.processes import Processes
from sandbox.cluster.volumes import create_volumes
from sandbox.realnodes.environment import RealNodes
from sandbox.scenario import EXAMPLES
from sandbox.scenarios import training_in_pods
from sandbox.scenarios.milestones import Scenario
from sandbox.stack_file import StackFile
from sandbox.up import Environment, create
from settings.load import load, parse
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Step
from tools.toolchain.tools import NODE_TOOLS, tools_for

TRAINING_CPUS = "1500m"
"""The quota of flavor cpu: examples/cpu-train.rayjob.yaml fills it, so that production has to preempt it."""


@dataclass
class RealEnvironment(Environment):
    """The creation of a sandbox with real nodes."""

    real: RealNodes = field(init=False)
    trains: bool = True

    def __post_init__(self) -> None:
        self.real = RealNodes(self.state, self.screen)

    def steps(self, scenarios: Sequence[Scenario]) -> list[Step]:
        """Returns the steps in order; `scenarios` are those of simulated nodes, and must be empty."""
        steps = super().steps(())
        images = Step("images", "Ray, KubeRay, the controller; without a container engine", self.images)
        after = next(i for i, step in enumerate(steps) if step.name == "tools") + 1
        steps.insert(after, images)
        if self.trains:
            steps.append(
                Step("scenario: training", "preempted in real pods, resumes from its checkpoint", self.train)
            )
        return steps

    def settle(self, scenarios: Sequence[Scenario]) -> str:
        """Checks the machine before anything is replaced or built."""
        self.real.check()
        return super().settle(scenarios)

    def read(self) -> StackFile:
        """Returns the stack file, fitted to real nodes."""
        stack_file = super().read()
        changes = fit_to_real_nodes(stack_file.content["config"])
        settings = parse(stack_file.content["config"], str(self.source))
        return StackFile(stack_file.content, settings, [*stack_file.changes, *changes])

    def tool_names(self) -> tuple[str, ...]:
        """Returns the tools of the engine and of the nodes."""
        return (*tools_for(self.engine), *NODE_TOOLS)

    def images(self) -> str:
        """Builds what the nodes need and the cache lacks."""
        return self.real.prepare()

    def control_plane(self) -> str:
        """Starts a control plane that real nodes may join."""
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
        self.real.deploy_kuberay(self.kubectl)
        return "KubeRay runs in a pod"

    def admission(self) -> str:
        """Waits for the engine that admits gangs."""
        if self.engine != "muster":
            return super().admission()
        wait_for_quotas(self.kubectl)
        return f"{self.real.wait_for_controller(self.kubectl)} replicas run in pods"

    def page(self) -> str:
        """Waits for the page's pod."""
        if self.engine != "muster":
            return super().page()
        return self.real.open_page(self.kubectl)

    def train(self) -> str:
        """Preempts training in real pods, and checks that it resumes."""
        return training_in_pods.play(self.state, self.kubectl, EXAMPLES, self.screen)


def up_real(state: RunState, engine: str, *, trains: bool = True, fresh: bool = False) -> None:
    """Creates a sandbox with real nodes, and plays the training scenario if `trains`.

    Raises StepError if a step fails, or if the sandbox is up and `fresh` is not set.
    """
    environment = RealEnvironment(state, engine, trains=trains)
    create(environment, environment.steps(()), fresh=fresh)


def fit_to_real_nodes(config: dict[str, Any]) -> list[str]:
    """Changes the stack's settings for real nodes; returns a sentence for each change."""
    (queue, *_) = config["muster:queues"]["clusterQueues"]
    real, simulated = queue["quotas"]["cpu"], queue["quotas"]["l4"]
    real["cpu"] = {"nominal": TRAINING_CPUS, "borrowingLimit": 0}
    simulated["cpu"] = {"nominal": 0, "borrowingLimit": 0}
    config["muster:controller"].setdefault("page", {})
    return [f"queue {queue['name']} has {TRAINING_CPUS} of CPU on real nodes, none on simulated GPU nodes"]
