"""Converts admissions to the API, and topology assignments from and to its compressed form.

Source: Kueue apis/kueue/v1beta2/workload_types.go (TopologyAssignment), pkg/util/tas.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from muster import admission as core
from muster.objects import kueue

_SLICES_MAX = 1000  # the API's limit for an assignment


def expanded(obj: kueue.TopologyAssignment) -> core.TopologyAssignment:
    """Expands the compressed form. Raises: ValueError if its parts differ in length."""
    return core.TopologyAssignment(
        obj.levels, tuple(domain for part in obj.slices for domain in _expanded(part))
    )


def _expanded(part: kueue.AssignmentSlice) -> Iterator[core.TopologyDomain]:
    count, pods = part.domain_count, part.pod_counts
    counts = pods.individual if pods.universal is None else (pods.universal,) * count
    columns = [_column(values, count) for values in part.values_per_level]
    if {count, len(counts), *map(len, columns)} != {count}:
        raise ValueError(f"topologyAssignment: slices: expected {count} values per level and pod counts")
    for index, amount in enumerate(counts):
        yield core.TopologyDomain(tuple(column[index] for column in columns), amount)


def _column(values: kueue.LevelValues, count: int) -> Sequence[str]:
    if values.universal is not None or values.individual is None:
        return (values.universal or "",) * count
    prefix, suffix = values.individual.prefix or "", values.individual.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in values.individual.roots]


def api_admission(admission: core.Admission) -> kueue.Admission:
    """Returns an admission of the core as Kueue's API represents it."""
    return kueue.Admission(
        cluster_queue=admission.cluster_queue,
        pod_set_assignments=tuple(
            kueue.PodSetAssignment(
                name=a.name,
                count=a.count,
                flavors=dict(a.flavors),
                resource_usage={r: core.quantities.format(r, n) for r, n in a.usage.items()},
                topology_assignment=compressed(a.topology) if a.topology else None,
                delayed_topology_request=_delayed(a),
            )
            for a in admission.pod_sets
        ),
    )


def _delayed(assigned: core.PodSetAssignment) -> str | None:
    if not assigned.topology_delayed:
        return None
    return "Pending" if assigned.topology is None else "Ready"


def compressed(assigned: core.TopologyAssignment) -> kueue.TopologyAssignment:
    """Compresses into one slice, or slices by hostname prefix if that is shorter, as V1Beta2From does."""
    levels, domains = assigned.levels, assigned.domains
    runs = [[domain for _, domain in run] for _, run in groupby(_keyed(assigned), key=lambda pair: pair[0])]
    by_prefix = kueue.TopologyAssignment(levels=levels, slices=tuple(map(_slice, runs)))
    if len(runs) <= 1:
        return by_prefix
    single = kueue.TopologyAssignment(levels=levels, slices=(_slice(domains),))
    return min(by_prefix, single, key=lambda form: len(msgspec.json.encode(form)))


def _keyed(assigned: core.TopologyAssignment) -> list[tuple[str, core.TopologyDomain]]:
    """Returns each domain with the longest hostname prefix that it shares with another domain, or "".

    A prefix ends after a hyphen. Uses shorter prefixes if there would be more slices than allowed.
    """
    domains = assigned.domains
    if not assigned.levels or assigned.levels[-1] != core.HOSTNAME:
        return [("", domain) for domain in domains]
    prefixes = [_prefixes(domain.values[-1]) for domain in domains]
    sharers = Counter(prefix for of_host in prefixes for prefix in of_host)
    for depth in range(max(map(len, prefixes), default=0), 0, -1):
        keys = [
            next((prefix for prefix in reversed(of_host[:depth]) if sharers[prefix] > 1), "")
            for of_host in prefixes
        ]
        if sum(1 for _ in groupby(keys)) <= _SLICES_MAX:
            return list(zip(keys, domains, strict=True))
    return [("", domain) for domain in domains]


def _prefixes(hostname: str) -> list[str]:
    return [hostname[: index + 1] for index, letter in enumerate(hostname[:-1]) if letter == "-"]


def _slice(domains: Sequence[core.TopologyDomain]) -> kueue.AssignmentSlice:
    counts = tuple(domain.count for domain in domains)
    same = len(set(counts)) == 1
    return kueue.AssignmentSlice(
        domain_count=len(domains),
        values_per_level=tuple(map(_level_values, zip(*(domain.values for domain in domains), strict=True))),
        pod_counts=kueue.SlicePodCounts(
            universal=counts[0] if same else None, individual=() if same else counts
        ),
    )


def _level_values(values: Sequence[str]) -> kueue.LevelValues:
    """Factors out the common prefix and suffix of all values."""
    if len(set(values)) == 1:
        return kueue.LevelValues(universal=values[0])
    shortest = min(map(len, values))
    suffix = _common([value[::-1] for value in values])[::-1]
    prefix = _common(values)[: shortest - len(suffix)]  # prefix and suffix must not overlap
    roots = tuple(value[len(prefix) : len(value) - len(suffix)] for value in values)
    return kueue.LevelValues(
        individual=kueue.LevelIndividualValues(prefix=prefix or None, suffix=suffix or None, roots=roots)
    )


def _common(values: Sequence[str]) -> str:
    """Returns the longest common prefix."""
    first, last = min(values), max(values)
    length = next((index for index, letter in enumerate(first) if letter != last[index]), len(first))
    return first[:length]
