"""Rules across parts of the settings, each with its source.

A rule reads settings whose parts are valid by themselves and yields the conflicts between them.
"""

from collections.abc import Callable, Iterator

from settings.model.stack import Settings
from settings.problems import Doubt, Finding
from settings.rules import (
    accelerators,
    addresses,
    anywhere,
    bounds,
    capacity,
    cluster,
    controller,
    disks,
    forecast,
    kai,
    labels,
    maintenance,
    network,
    observability,
    operators,
    placement,
    pools,
    provisioning,
    quantities,
    queues,
    quotas,
    sharing,
    tenants,
    topologies,
    tpus,
)

RULES: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    cluster.gke_needs_a_project,
    cluster.zones_belong_to_the_cluster,
    cluster.control_plane_can_be_reached,
    cluster.secrets_key_is_near,
    cluster.google_groups_are_found,
    cluster.google_groups_are_addresses,
    cluster.claims_are_served,
    cluster.auto_provisioning_limits_are_in_order,
    cluster.auto_provisioned_accelerators_exist,
    cluster.auto_provisioning_leaves_room_for_the_pools,
    maintenance.maintenance_has_enough_time,
    maintenance.exclusions_are_within_limits,
    network.network_has_a_cluster,
    network.subnet_belongs_to_the_network,
    addresses.ranges_are_not_reserved,
    addresses.ranges_have_accepted_sizes,
    network.ranges_are_apart,
    network.ranges_hold_the_nodes,
    network.gpudirect_has_its_networks,
    network.gpudirect_needs_a_network_of_the_stack,
    operators.engine_muster_has_its_controller,
    controller.images_are_built_for_google_cloud,
    controller.journal_has_a_place,
    forecast.forecast_names_exist,
    observability.observability_is_google_clouds,
    observability.metrics_are_collected,
    operators.kuberay_suits_the_stack,
    operators.kueue_starts_what_is_suspended,
    operators.kueue_knows_its_gates,
    operators.versions_serve_what_is_used,
    operators.operators_run_on_a_system_pool,
    operators.fair_shares_are_weighed,
    operators.configured_keys_are_used,
    operators.gpu_drivers_have_one_manager,
    pools.pool_names_are_unique,
    pools.node_counts_are_in_order,
    pools.existing_pools_are_in_existing_clusters,
    pools.some_pool_is_not_queued,
    accelerators.pools_suit_their_machines,
    accelerators.partitions_suit_gpus,
    accelerators.gpudirect_suits_machines,
    accelerators.dranet_is_served,
    tpus.topologies_suit_machines,
    tpus.pools_count_nodes_or_slices,
    tpus.slices_have_room,
    provisioning.reservations_suit_provisioning,
    provisioning.scheduled_pools_start_empty,
    provisioning.only_queued_pools_choose_flex_start,
    provisioning.scheduled_pools_have_accelerators,
    provisioning.machines_are_sold_that_way,
    provisioning.scheduled_nodes_live_a_week,
    provisioning.scheduled_pools_are_upgraded_by_gke,
    provisioning.cluster_is_new_enough,
    placement.zones_are_the_clusters,
    placement.compact_placement_is_supported,
    topologies.levels_are_kueues,
    topologies.levels_are_used,
    disks.boot_disks_suit_machines,
    disks.local_ssds_suit_machines,
    disks.preloaded_images_are_streamed,
    labels.pool_labels_are_free,
    labels.names_fit_in_labels,
    labels.queues_admit_their_tenants,
    queues.queue_names_are_unique,
    queues.cohorts_form_trees,
    queues.cluster_queues_name_cohorts,
    quotas.quotas_suit_flavors,
    quotas.quotas_include_accelerators,
    quotas.limits_suit_quotas,
    quotas.lending_stays_within_quotas,
    capacity.quotas_have_nodes,
    quantities.amounts_suit_resources,
    sharing.borrowing_preempts_only_with_reclaim,
    sharing.engine_does_what_queues_ask,
    sharing.checks_are_known,
    kai.kai_gets_nodes,
    kai.kai_keeps_queues_apart,
    kai.kai_does_what_queues_ask,
    kai.kai_takes_priorities,
    tenants.tenants_suit_queues,
    tenants.tenants_suit_priorities,
    tenants.tenants_share_no_names,
    tenants.tenants_suit_the_cluster,
    tenants.tenants_have_dependencies,
    tenants.gateways_can_be_named,
    tenants.tokens_are_made,
    bounds.limits_are_in_order,
    bounds.bounds_are_of_resources_that_nodes_have,
    bounds.quotas_let_gangs_in,
    anywhere.lists_have_each_value_once,
    anywhere.credentials_are_kept_elsewhere,
)

DOUBTS: tuple[Callable[[Settings], Iterator[Doubt]], ...] = (
    network.private_nodes_may_not_pull_images,
    provisioning.tpus_may_not_be_queued,
    kai.kai_shares_in_its_own_way,
)


def broken_rules(settings: Settings) -> Iterator[Finding]:
    """Yields a finding for every violation of a rule."""
    for rule in RULES:
        yield from rule(settings)


def doubts(settings: Settings) -> Iterator[Doubt]:
    """Yields what may not work although no rule is broken."""
    for doubt in DOUBTS:
        yield from doubt(settings)
