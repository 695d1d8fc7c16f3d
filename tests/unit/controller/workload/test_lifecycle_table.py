"""The table of phases and events agrees with the declared transitions."""

from muster.cluster.phases import TRANSITIONS, PassStage, Phase
from muster.controller.workload.lifecycle import LIFECYCLE


def test_events_of_each_phase_lead_to_the_transitions_that_are_declared_for_it() -> None:
    in_table = {
        (transition.__name__, phase)
        for phase, events in LIFECYCLE.items()
        for event in events
        for transition in event.transitions
    }
    declared = {
        (transition.name, phase)
        for transition in TRANSITIONS
        if PassStage.ADVANCE in transition.stages
        for phase in transition.sources
    }
    assert in_table == declared


def test_each_phase_has_its_events() -> None:
    assert LIFECYCLE.keys() == set(Phase)
    assert LIFECYCLE[Phase.FINISHED] == ()
