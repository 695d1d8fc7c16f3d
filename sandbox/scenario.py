"""`scenario`: plays the engine's scenarios in a running sandbox."""

from contextlib import closing
from functools import partial

from sandbox.cluster import kai_process, kinds
from sandbox.cluster.processes import Processes
from sandbox.running import engine_of, named, only_run, require_api, users_objects
from sandbox.scenarios import runner
from sandbox.scenarios.elastic import ELASTIC
from sandbox.scenarios.fit import changes, fit
from sandbox.scenarios.jobs import JOBS
from sandbox.scenarios.milestones import Scenario
from sandbox.scenarios.serving import serving
from sandbox.stack_file import SOURCE, deployed
from settings.load import load
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen, Step, StepError, run_steps

EXAMPLES = CHECKOUT / "examples"
# JOBS needs provisioned nodes, which KAI cannot request.
SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "muster": (JOBS, serving("muster"), ELASTIC),
    "kueue": (JOBS, serving("kueue")),
    "kai": (serving("kai"),),
}
ENGINES = tuple(SCENARIOS)
# The processes that admit gangs; the log of the first is the most informative.
ADMITTING = {"muster": ("controller",), "kueue": ("kueue",), "kai": kai_process.SERVICES}


def chosen(engine: str, name: str | None) -> tuple[Scenario, ...]:
    """Returns the engine's scenario with this name; all scenarios if it is None. Raises StepError for an
    unknown name."""
    scenarios = tuple(s for s in SCENARIOS[engine] if name in (None, s.name))
    if not scenarios:
        names = ", ".join(s.name for s in SCENARIOS[engine])
        raise StepError(f"engine {engine} has no scenario {name!r}", try_this=f"SCENARIO= one of: {names}")
    return scenarios


def scenario(state: RunState, name: str | None) -> None:
    """Plays a scenario again, or all of them. Raises StepError if the sandbox has other jobs."""
    with only_run(state):
        require_api(state)
        engine, screen = engine_of(state), Screen()
        scenarios = chosen(engine, name)
        require_no_jobs(state)
        run_steps(
            [
                Step(f"scenario: {s.name}", s.summary, partial(play_scenario, state, engine, s, screen))
                for s in scenarios
            ],
            screen,
        )


def require_no_jobs(state: RunState) -> None:
    """Raises StepError with the jobs that would interfere with a scenario."""
    with closing(kinds.connect(state.kubeconfig)) as client:
        others = users_objects(client)
    if others:
        raise StepError(
            f"a scenario needs a sandbox without other jobs; {named(others)} would interfere",
            try_this="delete these with kubectl, or wait until they have finished",
        )


def play_scenario(state: RunState, engine: str, scenario: Scenario, screen: Screen) -> str:
    """Submits the scenario's examples, fitted to the stack's quotas, and checks its milestones."""
    processes = Processes(state)
    examples = runner.read_examples(scenario, EXAMPLES)
    remedy = f"change that in {SOURCE}, then {state.command('apply')}"
    fitted = fit(scenario, examples, load(deployed(state)), remedy)
    for change in changes(examples, fitted):
        screen.line(f"  {change}, to fit the stack's quotas")

    def alive() -> None:
        for name in ADMITTING[engine]:
            processes.check(name)

    if not runner.run(scenario, state.kubeconfig, fitted, screen.out, check=alive):
        for name in processes.table():
            processes.check(name)  # a process that ended is the likely reason
        raise StepError(
            "milestones are missing or out of order: see the table above",
            log=state.log(ADMITTING[engine][0]),
            try_this=f"{state.command('status')}, and {state.command('logs')}",
        )
    return "all milestones observed, in order"
