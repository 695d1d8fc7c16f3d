"""Names of a cluster's resources in its project."""

import re
from itertools import combinations

import pytest

from settings.model.foundation.place import GkePlace
from settings.model.google_cloud import ID


def place(name: str, location: str = "us-west1") -> GkePlace:
    return GkePlace(name, location, (), protected=False)


LONG = "ray-production-inference-"
# Each is the place of a cluster, and the parts of a name.
NAMES = {
    "a tenant's account": (place("ray"), ("team-a", "ray")),
    "another cluster": (place("ray-2"), ("team-a", "ray")),
    "a cluster of the same name in another region": (place("ray", "us-west4"), ("team-a", "ray")),
    "a cluster of the same name in a zone": (place("ray", "us-west1-a"), ("team-a", "ray")),
    "the same text from another cluster and namespace": (place("ray-team"), ("a", "ray")),
    "the same characters in another order": (place("ray"), ("team", "a-ray")),
    "a long name": (place(f"{LONG}us-west1"), ("nodes",)),
    "a long name that differs at its end": (place(f"{LONG}us-west4"), ("nodes",)),
    "a host": (place("ray"), ("team-a", "models.example.com", "tls")),
    "a host that differs in a dot": (place("ray"), ("team-a", "models-example.com", "tls")),
}


@pytest.mark.parametrize("longest", [30, 63])
def test_no_two_names_are_equal(longest: int) -> None:
    names = {case: cluster.unique(*parts, longest=longest) for case, (cluster, parts) in NAMES.items()}
    assert [pair for pair in combinations(names, 2) if names[pair[0]] == names[pair[1]]] == []


@pytest.mark.parametrize("case", NAMES)
def test_a_name_is_valid_and_ends_with_what_it_is_for(case: str) -> None:
    cluster, parts = NAMES[case]
    name = cluster.unique(*parts, longest=30)
    assert re.fullmatch(ID, name)
    assert re.fullmatch(rf".+-{parts[-1]}-[0-9a-f]{{6}}", name)


def test_a_short_name_has_all_parts_in_full() -> None:
    assert place("ray").unique("team-a", "ray", longest=30).startswith("ray-team-a-ray-")
