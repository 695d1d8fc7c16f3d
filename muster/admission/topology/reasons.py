"""Why pods can't be placed, in Kueue's words.

Source: notFitMessage and multiLayerNotFitMessage of pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from collections.abc import Iterator

from muster.admission.topology.ask import Ask
from muster.admission.topology.domains import DomainTree
from muster.admission.topology.rooms import Room, Rooms
from muster.admission.topology.search import TooLittle
from muster.admission.topology.values import Exclusions


def exclusions_of(rooms: Rooms) -> Exclusions:
    matches = rooms.matches
    return Exclusions(
        total=len(rooms.levels[-1]),
        selector=matches.selector,
        affinity=matches.affinity,
        domain=rooms.outside,
        taints=matches.taints,
        resources=rooms.short_of(),
    )


def sentence(tree: DomainTree, rooms: Rooms, ask: Ask, too_little: TooLittle, excluded: Exclusions) -> str:
    text = f'topology "{tree.topology}" '
    if ask.inner:
        text += "doesn't allow to fit"
        best = min(rooms.levels[too_little.level], key=lambda room: (-room.slices, room.rank))
        for part in ask.slices:
            fitting = _slices_within(best, tree.keys.index(part.level), part.size)
            text += f"; {fitting}/{ask.count // part.size} slice(s) fit on level {part.level}"
    else:
        unit = "pod" if ask.slice_size == 1 else "slice"
        wanted, fitting = ask.slice_count, too_little.fitting
        text += f"allows to fit only {fitting} out of" if fitting else "doesn't allow to fit any of"
        text += f" {wanted} {unit}(s)"
    causes = ", ".join(sorted(_causes(excluded)))
    return f"{text}. Total nodes: {excluded.total}; excluded: {causes}" if causes else text


def _slices_within(room: Room, level: int, size: int) -> int:
    if room.domain.level == level:
        return room.pods // size
    return sum(_slices_within(child, level, size) for child in room.children)


def _causes(excluded: Exclusions) -> Iterator[str]:
    if excluded.selector:
        yield f"nodeSelector: {excluded.selector}"
    if excluded.affinity:
        yield f"affinity: {excluded.affinity}"
    if excluded.domain:
        yield f"topologyDomain: {excluded.domain}"
    for taint, nodes in excluded.taints.items():
        yield f'taint "{taint}": {nodes}'
    for resource, nodes in excluded.resources.items():
        yield f'resource "{resource}": {nodes}'
