"""Writes docs/workload-phases.md from the declared transitions."""

from collections.abc import Iterable

from muster.cluster.phases import DESCRIPTIONS, TRANSITIONS, PassStage, Phase, Transition
from muster.controller.workload import lifecycle, transitions
from tools.toolchain.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "workload-phases.md"

_INTRODUCTION = f"""# Phases of a Workload

Written by `make docs` from `{transitions.__name__.replace(".", "/")}.py`, where each transition
declares its phases. The simulation compares every status that the controller writes with these declarations.
The core decides when a transition is due (`muster/admission/lifecycle/`).
"""
_EVENTS = f"""The first event that has occurred in a phase, in this order, leads to its transition
(`{lifecycle.__name__.replace(".", "/")}.py`):
"""


def page() -> str:
    """Returns the page as Markdown."""
    return "\n".join(
        [_INTRODUCTION, *_diagram(), "", *_phases(), "", *_transitions(), "", _EVENTS, *_events(), ""]
    )


def _diagram() -> Iterable[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {Phase.PENDING}"
    for transition in TRANSITIONS:
        for source in _sorted(transition.sources):
            targets = (target for target in _sorted(transition.targets) if target != source)
            yield from (f"    {source} --> {target}: {transition.name}" for target in targets)
    yield f"    {Phase.FINISHED} --> [*]"
    yield "```"


def _phases() -> Iterable[str]:
    yield "| phase | meaning |"
    yield "|---|---|"
    yield from (f"| {phase} | {DESCRIPTIONS[phase]} |" for phase in Phase)


def _transitions() -> Iterable[str]:
    yield "| transition | from | to | stage of the pass | effect |"
    yield "|---|---|---|---|---|"
    yield from map(_row, TRANSITIONS)


def _row(transition: Transition) -> str:
    sources, targets = (
        "any" if len(phases) == len(Phase) - 1 else ", ".join(_sorted(phases))
        for phases in (transition.sources, transition.targets)
    )
    stages = ", ".join(stage for stage in PassStage if stage in transition.stages)
    return f"| `{transition.name}` | {sources} | {targets} | {stages} | {transition.summary} |"


def _events() -> Iterable[str]:
    yield "| phase | once … | transition |"
    yield "|---|---|---|"
    for phase, events in lifecycle.LIFECYCLE.items():
        for event in events:
            names = " or ".join(f"`{transition.__name__}`" for transition in event.transitions)
            yield f"| {phase} | {event.description} | {names} |"


def _sorted(phases: Iterable[Phase]) -> list[Phase]:
    return sorted(phases, key=list(Phase).index)
