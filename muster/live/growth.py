"""How far an autoscaled job that is not submitted yet would grow when it starts."""

from dataclasses import dataclass, replace

from muster import admission as core
from muster.cluster.jobs.scaling import Sizes, workers
from muster.translation.elastic import ElasticPodSet, split

DECISIONS_MAX = 10


@dataclass(frozen=True, slots=True)
class GroupGrowth:
    """A worker group; all numbers are of workers."""

    group: str
    minimum: int  # that start with the head
    asked: int  # by `replicas`
    fits: int  # of those asked, including the minimum, right after the start
    queued: bool = False  # nodes of further workers are requested by an admission check

    @property
    def start(self) -> str:
        """The start as a clause."""
        return f"Group {self.group} starts with {workers(self.minimum)} of the {self.asked} that it asks for"

    @property
    def sentence(self) -> str:
        """The growth as a sentence."""
        if self.asked <= self.minimum:
            return f"{self.start}."
        if self.fits <= self.minimum:
            return f"{self.start}, and does not grow right after."
        when = "once the nodes are provisioned" if self.queued else "right after"
        return f"{self.start}, and grows to {self.fits} {when}."


def growth(
    engine: core.Engine, workload: core.Workload, admission: core.Admission, sizes: Sizes, now_ms: int
) -> tuple[GroupGrowth, ...]:
    """Returns the growth of a gang that `engine` has just admitted; the engine then has its surplus, too."""
    elastic = {
        name: ElasticPodSet(group.minimum, group.num_of_hosts, group.asked(group.replicas))
        for name, group in sizes.items()
    }
    surplus = split(replace(workload, admission=admission), elastic)[1:]
    pod_sets = {replica.key: replica.pod_sets[0] for replica in surplus}
    for replica in surplus:
        engine.put(replica)
    fits = {name: group.minimum for name, group in elastic.items()}
    for _ in range(DECISIONS_MAX):
        for admitted in engine.decide(now_ms, explain=False).admissions:
            if admitted.workload in pod_sets:
                fits[pod_sets[admitted.workload].name] += pod_sets[admitted.workload].count
        if engine.settled:
            break
    return tuple(replace(group, fits=fits[group.group]) for group in minimums(sizes))


def minimums(sizes: Sizes) -> tuple[GroupGrowth, ...]:
    """Returns the groups of a gang that keeps its minimum."""
    return tuple(
        GroupGrowth(name, group.minimum, group.asked(group.replicas), group.minimum)
        for name, group in sorted(sizes.items())
    )
