"""The rules, one file per concept: each ResourceRule and StackRule that a module of this package defines."""

from importlib import import_module
from pkgutil import iter_modules

from policies.rule import ResourceRule, StackRule

__all__ = ["RULES"]

# The engine lists rules in this order; other modules follow.
_FIRST = (
    "cluster",
    "control_plane",
    "maintenance",
    "node_pools",
    "iam",
    "rbac",
    "namespaces",
    "tenants",
    "workloads",
    "queues",
    "compute_classes",
    "capacity",
    "charts",
    "costs",
    "environments",
)

RULES: tuple[ResourceRule | StackRule, ...] = tuple(
    value
    for name in dict.fromkeys((*_FIRST, *(module.name for module in iter_modules(__path__))))
    for value in vars(import_module(f"{__name__}.{name}")).values()
    if isinstance(value, (ResourceRule, StackRule)) and value.check.__module__ == f"{__name__}.{name}"
)
