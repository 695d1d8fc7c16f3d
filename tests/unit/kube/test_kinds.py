"""Paths of kinds in the API."""

from typing import Any

import pytest

from muster.kube.kinds import NODES, PODS, WORKLOADS, Kind

PATHS: dict[str, tuple[Kind[Any], tuple[str, ...], str]] = {
    "all of a core kind": (PODS, (), "/api/v1/pods"),
    "a namespace": (PODS, ("team-a",), "/api/v1/namespaces/team-a/pods"),
    "one of the whole cluster": (NODES, ("", "node-1"), "/api/v1/nodes/node-1"),
    "a status": (
        WORKLOADS,
        ("team-a", "w", "status"),
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/w/status",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_kinds_path(name: str) -> None:
    kind, arguments, expected = PATHS[name]
    assert kind.path(*arguments) == expected
