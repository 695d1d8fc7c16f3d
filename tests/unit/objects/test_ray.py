"""The number of pods of a worker group."""

from typing import Any

import pytest

from muster.objects.ray import WorkerGroup

SIZES: dict[str, tuple[dict[str, Any], int]] = {
    "replicas": ({"replicas": 3}, 3),
    "none said": ({}, 0),
    "at least the minimum": ({"replicas": 1, "min_replicas": 2}, 2),
    "the minimum alone": ({"min_replicas": 2}, 2),
    "at most the maximum": ({"replicas": 9, "max_replicas": 4}, 4),
    "a maximum of none": ({"replicas": 9, "max_replicas": 0}, 0),
    "each replica on several hosts": ({"replicas": 2, "num_of_hosts": 4}, 8),
    "hosts left at 0": ({"replicas": 2, "num_of_hosts": 0}, 2),
    "suspended": ({"replicas": 2, "suspend": True}, 0),
    "less than none": ({"replicas": -2, "min_replicas": -1}, 0),
}


@pytest.mark.parametrize("name", SIZES)
def test_pods_of_a_worker_group_follow_kuberay(name: str) -> None:
    fields, expected = SIZES[name]
    assert WorkerGroup(**fields).pods == expected
