"""Rules of quantities: amounts that are valid in Kubernetes, but not of this resource."""

import re
from collections.abc import Iterator

from settings.model.base import amount
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.anywhere import values
from settings.rules.registry import rule

BYTES = ("memory", "ephemeral-storage", "storage")
LEAST_BYTES = 1024**2
CORES = re.compile(r"-?[0-9.]+m?")
# Sections with amounts, and the keys of amounts that are not the resource's name.
AMOUNTS_IN = (
    "muster:pools",
    "muster:queues",
    "muster:tenants",
    "muster:controller",
    "muster:kuberay",
    "muster:jobset",
    "muster:lws",
    "muster:kueue",
    "muster:kai",
)
HOLDERS = {"quotas", "resourceQuota", "limits", "resources", "daemonSets"}
QUOTA_KEYS = ("nominal", "borrowingLimit", "lendingLimit")

Amount = tuple[Path, str, str]


@rule()
def amounts_suit_resources(settings: Settings) -> Iterator[Finding]:
    """Memory and storage are at least 1Mi: `64` is 64 bytes, and `500m` half a byte. CPU has no unit of
    bytes, and devices and counts are whole numbers (Kubernetes, "Resource units").

    An amount of 0 is accepted everywhere.
    """
    for path, resource, quantity in _amounts(settings):
        value = amount(quantity)
        if resource in BYTES and 0 < value < LEAST_BYTES:
            number = quantity.rstrip("kmKi")
            yield Finding(
                path,
                f"an amount of bytes, at least 1Mi; {quantity} is {_bytes(quantity)} (Kubernetes, "
                "resource units)",
                f"did you mean {number}Mi or {number}Gi?",
            )
        elif resource == "cpu" and not CORES.fullmatch(quantity):
            yield Finding(
                path,
                "cores without a unit, or thousandths of a core (Kubernetes, resource units)",
                'write a number, such as 4 or "500m"',
            )
        elif resource not in (*BYTES, "cpu") and value.denominator != 1:
            yield Finding(
                path,
                "a whole number: devices and objects cannot be divided (Kubernetes, extended resources)",
                "write a whole number; `gpu.sharing` lets several containers use one GPU",
            )


def _bytes(quantity: str) -> str:
    return f"{quantity} bytes" if quantity.isdigit() else f"{float(amount(quantity)):g} bytes"


def _amounts(settings: Settings) -> Iterator[Amount]:
    """Yields all amounts of the stack file: path, resource and quantity."""
    for path, value in values(settings):
        held = not HOLDERS.isdisjoint(path[1:-1]) or path[-1:] == ("storage",)
        if isinstance(value, str) and path[0] in AMOUNTS_IN and held:
            resource = path[-2] if path[-1] in QUOTA_KEYS else path[-1]
            yield path, str(resource).removeprefix("requests.").removeprefix("limits."), value
