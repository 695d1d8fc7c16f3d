"""docs/workload-phases.md, written from the declared transitions."""

from collections.abc import Iterable

from muster.controller.workload import transitions
from muster.controller.workload.phases import DESCRIPTIONS, TRANSITIONS, PassStage, Phase, Transition
from sandbox.toolchain.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "workload-phases.md"

_INTRODUCTION = f"""# Phases of a Workload

Written by `make docs` from `{transitions.__name__.replace(".", "/")}.py`, where each transition
declares its phases. The simulation compares every status that the controller writes with these declarations.
The core decides when a transition is due (`muster/admission/lifecycle/`).
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, *_diagram(), "", *_phases(), "", *_transitions(), ""])


def _diagram() -> Iterable[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {Phase.PENDING}"
    for one in TRANSITIONS:
        for source in _sorted(one.sources):
            yield from (f"    {source} --> {t}: {one.name}" for t in _sorted(one.targets) if t != source)
    yield f"    {Phase.FINISHED} --> [*]"
    yield "```"


def _phases() -> Iterable[str]:
    yield "| phase | meaning |"
    yield "|---|---|"
    yield from (f"| {phase} | {DESCRIPTIONS[phase]} |" for phase in Phase)


def _transitions() -> Iterable[str]:
    yield "| transition | from | to | stage of the pass | effect |"
    yield "|---|---|---|---|---|"
    yield from (_row(one) for one in TRANSITIONS)


def _row(one: Transition) -> str:
    sources, targets = (
        "any" if len(p) == len(Phase) - 1 else ", ".join(_sorted(p)) for p in (one.sources, one.targets)
    )
    stages = ", ".join(stage for stage in PassStage if stage in one.stages)
    return f"| `{one.name}` | {sources} | {targets} | {stages} | {one.summary} |"


def _sorted(phases: Iterable[Phase]) -> list[Phase]:
    return sorted(phases, key=list(Phase).index)
