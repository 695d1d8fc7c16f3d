"""Rules across sections of the settings, each with its source.

Importing this package registers the rules of all of its modules.
"""

from importlib import import_module
from pkgutil import iter_modules

from settings.rules.registry import DOUBTS, RULES, broken_rules, doubts

__all__ = ["DOUBTS", "RULES", "broken_rules", "doubts"]

# Problems are reported in this order; modules that are not listed follow.
_FIRST = (
    "cluster",
    "maintenance",
    "network",
    "controller",
    "forecast",
    "observability",
    "operators",
    "pools",
    "accelerators",
    "tpus",
    "provisioning",
    "compute_classes",
    "placement",
    "disks",
    "labels",
    "queues",
    "capacity",
    "heads",
    "quantities",
    "sharing",
    "checks",
    "kai",
    "tenants",
    "bounds",
    "created_objects",
    "anywhere",
)

for _name in dict.fromkeys((*_FIRST, *(module.name for module in iter_modules(__path__)))):
    import_module(f"{__name__}.{_name}")
