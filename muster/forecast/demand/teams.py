"""Queues of added teams."""

from collections.abc import Sequence
from dataclasses import replace

from muster.forecast.configuration import QueueConfiguration
from muster.forecast.demand.demand import AddedTeam


def with_queues(configuration: QueueConfiguration, teams: Sequence[AddedTeam]) -> QueueConfiguration:
    """Returns the configuration with a queue for each of these teams: a copy of the queue `like`, with the
    same quotas, cohort, weight and preemption, so that the cohort's quota grows by as much."""
    queues, provisioned = dict(configuration.snapshot.cluster_queues), dict(configuration.provisioned)
    for team in teams:
        queues[team.queue] = replace(queues[team.like], name=team.queue)
        provisioned[team.queue] = provisioned.get(team.like, frozenset())
    return replace(
        configuration,
        snapshot=replace(configuration.snapshot, cluster_queues=queues),
        provisioned=provisioned,
        assumed_queues={team.queue: team.like for team in teams},
    )
