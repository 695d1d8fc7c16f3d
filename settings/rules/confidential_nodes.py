"""Rules of confidential nodes, whose memory is encrypted with keys that stay in the CPU."""

from collections.abc import Iterator

from settings.facts.tables import table
from settings.model.pools.machines import MACHINES
from settings.model.stack import Settings
from settings.problems import Doubt, Finding
from settings.rules.provisioning import ways_to_get_nodes
from settings.rules.registry import doubt, rule


def _has(technology: str, machine_type: str) -> bool:
    prefixes = table("confidential_nodes").facts[technology]
    return any(f"{machine_type}-".startswith(f"{prefix}-") for prefix in prefixes)


@rule("pools")
def confidential_nodes_suit_machines(settings: Settings) -> Iterator[Finding]:
    """Confidential nodes are of machine types that have their technology (compute-class-api:
    NodePoolConfig.confidentialNodeType, August 2026; settings/facts/confidential_nodes.toml)."""
    for path, pool in ways_to_get_nodes(settings):
        technology, listed = pool.confidential_nodes, pool.machine_type in MACHINES
        if technology and listed and not _has(technology, pool.machine_type):
            fitting = table("confidential_nodes").facts[technology]
            yield Finding(
                (*path, "machineType"),
                f"a machine type with {technology}: {', '.join(fitting)} (compute-class-api: NodePoolConfig)",
                "choose one, or remove `confidentialNodes`",
            )


@doubt("pools")
def confidential_nodes_are_not_known(settings: Settings) -> Iterator[Doubt]:
    """A machine type that only the stack describes may have no confidential nodes (compute-class-api:
    NodePoolConfig)."""
    facts = table("confidential_nodes")
    for path, pool in ways_to_get_nodes(settings):
        technology = pool.confidential_nodes
        if technology and pool.machine_type not in MACHINES and not _has(technology, pool.machine_type):
            yield Doubt(
                (*path, "machineType"),
                f"{pool.machine_type} was not known to have {technology} on {facts.date}: GKE may refuse it",
                facts.source,
            )
