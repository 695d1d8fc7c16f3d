"""Order of GKE versions."""

from itertools import pairwise

import pytest

from settings.model.versions import GkeVersion

# In ascending order.
ORDER = [
    "1.32.1-gke.9999999",
    "1.32.1",
    "1.32.2-gke.1652000",
    "1.32.2-gke.1652001",
    "1.32.10-gke.1",
    "1.32",
    "1.33.0-gke.1712000",
    "1.36",
    "2.0",
]


@pytest.mark.parametrize(("older", "newer"), list(pairwise(ORDER)))
def test_versions_are_ordered_by_age(older: str, newer: str) -> None:
    assert GkeVersion.parse(older) < GkeVersion.parse(newer)


@pytest.mark.parametrize("text", ["", "1", "latest", "v1.36", "1.36-gke.1", "1.36.1-gke"])
def test_text_that_is_not_a_version_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a GKE version"):
        GkeVersion.parse(text)
