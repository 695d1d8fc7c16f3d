"""The flavor that a gang is counted under."""

from collections.abc import Iterable, Mapping


def main_flavor(pod_sets: Iterable[Mapping[str, str]]) -> str:
    """Returns the flavor of the accelerators, else of the first resource; `pod_sets` are flavors by
    resource."""
    first = ""
    for flavors in pod_sets:
        for resource, flavor in flavors.items():
            if "/" in resource:
                return flavor
            first = first or flavor
    return first
