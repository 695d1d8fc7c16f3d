"""The kubelet's and the kernel's settings of nodes: of node pools, and of ComputeClasses."""

from typing import Any

from pulumi_gcp.container import (
    NodePoolNodeConfigKubeletConfigArgs,
    NodePoolNodeConfigKubeletConfigMemoryManagerArgs,
    NodePoolNodeConfigKubeletConfigTopologyManagerArgs,
    NodePoolNodeConfigLinuxNodeConfigArgs,
    NodePoolNodeConfigLinuxNodeConfigHugepagesConfigArgs,
)

from settings.model.pools.node_system import Kubelet, Linux, sysctl_range
from settings.model.pools.pool import Pool

# The kubelet's own words (MemoryManagerPolicy), which GKE takes.
MEMORY_POLICIES = {"none": "None", "static": "Static"}


def kubelet(settings: Kubelet | None) -> NodePoolNodeConfigKubeletConfigArgs | None:
    """Returns the kubelet's settings of a node pool; None for GKE's defaults."""
    if settings is None:
        return None
    config = NodePoolNodeConfigKubeletConfigArgs(
        cpu_manager_policy=settings.cpu_manager_policy, pod_pids_limit=settings.pod_pids_limit
    )
    if policy := settings.memory_manager_policy:
        config.memory_manager = NodePoolNodeConfigKubeletConfigMemoryManagerArgs(
            policy=MEMORY_POLICIES[policy]
        )
    if settings.topology_manager_policy or settings.topology_manager_scope:
        config.topology_manager = NodePoolNodeConfigKubeletConfigTopologyManagerArgs(
            policy=settings.topology_manager_policy, scope=settings.topology_manager_scope
        )
    return config


def linux(settings: Linux | None) -> NodePoolNodeConfigLinuxNodeConfigArgs | None:
    """Returns the kernel's settings of a node pool; None for GKE's defaults."""
    if settings is None:
        return None
    pages = settings.hugepages
    hugepages = NodePoolNodeConfigLinuxNodeConfigHugepagesConfigArgs(
        hugepage_size2m=pages.get("2Mi"), hugepage_size1g=pages.get("1Gi")
    )
    return NodePoolNodeConfigLinuxNodeConfigArgs(
        sysctls=settings.sysctls or None, hugepages_config=hugepages if pages else None
    )


def of_class(pool: Pool) -> dict[str, Any] | None:
    """Returns the settings of a ComputeClass's nodes (compute-class-api: NodeSystemConfig)."""
    config = {
        "kubeletConfig": _kubelet_of_class(pool.kubelet or Kubelet()),
        "linuxNodeConfig": _linux_of_class(pool.linux or Linux()),
    }
    return {key: value for key, value in config.items() if value} or None


def _kubelet_of_class(settings: Kubelet) -> dict[str, Any]:
    topology = {"policy": settings.topology_manager_policy, "scope": settings.topology_manager_scope}
    memory = settings.memory_manager_policy
    config = {
        "cpuManagerPolicy": settings.cpu_manager_policy,
        "memoryManager": {"policy": MEMORY_POLICIES[memory]} if memory else None,
        "topologyManager": {key: value for key, value in topology.items() if value},
        "podPidsLimit": settings.pod_pids_limit,
    }
    return {key: value for key, value in config.items() if value}


def _linux_of_class(settings: Linux) -> dict[str, Any]:
    small, large = settings.hugepages.get("2Mi"), settings.hugepages.get("1Gi")
    pages = {"hugepage_size2m": small, "hugepage_size1g": large}
    config = {
        "sysctls": {name: _typed(name, value) for name, value in settings.sysctls.items()},
        "hugepageConfig": {key: count for key, count in pages.items() if count},
    }
    return {key: value for key, value in config.items() if value}


def _typed(name: str, value: str) -> int | bool | str:
    """Returns a kernel parameter's value in the type that a ComputeClass has for it."""
    if sysctl_range(name):
        return int(value)
    return {"true": True, "false": False}.get(value, value)
