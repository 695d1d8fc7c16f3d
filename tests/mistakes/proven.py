"""Judges changes of stacks by their refusals, and by the proof that gangs run for those that are accepted."""

from collections.abc import Iterator
from dataclasses import replace

from settings.load import SettingsError, parse, warnings
from settings.model.base import amount
from settings.model.stack import Settings
from settings.problems import written
from settings.proof.gangs import Proof, smallest_gang
from settings.rules.queues import flavors_of_queues
from tests.mistakes.schema import Change


def faults(change: Change) -> Iterator[str]:
    """Yields refusals of a change that do not help users, and gangs of an accepted change that never run."""
    try:
        settings = parse(change.config, "stack")
    except SettingsError as refused:
        for problem in refused.problems:
            if not (problem.expected and problem.remedy) or problem.remedy == "fix it":
                yield f"{change}: refused without help: {problem}"
        return
    yield from (f"{change}: accepted, but {gang}" for gang in unproven(settings))


def unproven(settings: Settings) -> Iterator[str]:
    """Yields the flavors of queues whose smallest or largest gang never runs, unless a warning is about the
    queue's quotas or the flavor's pool.

    The largest gang has as many pods with one device, or as many TPU slices, as the nominal quota grants.
    """
    if settings.admission.engine == "kai":
        return  # it has no flavors
    proof, warned = Proof(settings), None
    for path, queue, pool in flavors_of_queues(settings):
        smallest = smallest_gang(pool, queue)
        counts = [
            int(amount(queue.quotas[pool.flavor_name][resource].nominal) / amount(quantity))
            for resource, quantity in smallest.requests.items()
            if resource in queue.quotas[pool.flavor_name]
        ]
        slices = max(1, min(counts, default=1) // smallest.count)
        for gang in (smallest, replace(smallest, count=slices * smallest.count)):
            outcome = proof.outcome(queue.name, gang)
            if not outcome.why:
                continue
            warned = "".join(warnings(settings)) if warned is None else warned
            if (
                written(path[:3]) not in warned
                and f"muster:pools[{settings.pools.index(pool)}]" not in warned
            ):
                yield f"{written(path)}: {gang} never runs: {outcome.why}"
