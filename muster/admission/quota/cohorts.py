"""The cohorts of a snapshot: which there are, under whom, and which have no way up that ends."""

from collections.abc import Container, Iterator, Mapping

from muster.admission.model import Snapshot


def cohort_parents(snapshot: Snapshot) -> dict[str, str | None]:
    """Every cohort that is declared or only named, with its parent; names in order."""
    parents: dict[str, str | None] = {name: cohort.parent for name, cohort in snapshot.cohorts.items()}
    named = [cohort.parent for cohort in snapshot.cohorts.values()]
    named += [queue.cohort for queue in snapshot.cluster_queues.values()]
    for name in named:
        if name is not None:
            parents.setdefault(name, None)
    return dict(sorted(parents.items()))


def cyclic_cohorts(parents: Mapping[str, str | None]) -> frozenset[str]:
    """The cohorts whose way up never ends."""
    ends: dict[str, bool] = {}
    for start in parents:
        way: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in ends and name not in way:
            way[name] = None
            name = parents[name]
        ended = name is None or ends.get(name, False)
        ends.update(dict.fromkeys(way, ended))
    return frozenset(name for name, ended in ends.items() if not ended)


def parents_first(parents: Mapping[str, str | None], cyclic: Container[str]) -> Iterator[str]:
    seen: set[str] = set()
    for start in parents:
        way = []
        name: str | None = start
        while name is not None and name not in seen and name not in cyclic:
            seen.add(name)
            way.append(name)
            name = parents[name]
        yield from reversed(way)
