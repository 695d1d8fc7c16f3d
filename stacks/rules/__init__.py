"""Rules that join parts of the settings, each with the source that it comes from.

A rule reads settings whose parts are each right by themselves and yields what is wrong between them.
"""

from collections.abc import Callable, Iterator

from stacks.problems import Finding
from stacks.rules import cluster, pools, queues, quotas, sharing
from stacks.stack import Settings

RULES: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    cluster.gke_needs_a_project,
    cluster.operators_suit_the_cluster,
    pools.pool_names_are_unique,
    pools.pools_suit_their_machines,
    pools.node_counts_are_in_order,
    pools.queued_pools_start_empty,
    pools.some_pool_is_not_queued,
    queues.queue_names_are_unique,
    queues.cohorts_form_trees,
    queues.cluster_queues_name_cohorts,
    quotas.quotas_suit_flavors,
    quotas.limits_suit_quotas,
    quotas.lending_stays_within_quotas,
    sharing.borrowing_preempts_only_with_reclaim,
    sharing.engine_does_what_queues_ask,
    sharing.checks_are_known,
    queues.tenants_suit_queues,
)


def broken_rules(settings: Settings) -> Iterator[Finding]:
    for rule in RULES:
        yield from rule(settings)
