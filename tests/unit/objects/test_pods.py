"""Requests of one pod."""

from typing import Any

import pytest

from muster.admission import QuantityError
from muster.objects.pods import encode_template, pod_requests

MI = 2**20


def container(restart: str = "", limits: Any = None, **requests: Any) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits or {}}
    return {"name": "c", "resources": resources, "restartPolicy": restart}


CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "one container": ({"containers": [container(cpu="500m", memory="1Mi")]}, {"cpu": 500, "memory": MI}),
    "containers add up": ({"containers": [container(cpu=1), container(cpu="250m")]}, {"cpu": 1250}),
    "nothing asked": ({"containers": [container()]}, {}),
    "a limit replaces a missing request": (
        {"containers": [container(limits={"cpu": "2", "memory": "2Mi"}, cpu="1")]},
        {"cpu": 1000, "memory": 2 * MI},
    ),
    "a small init container costs nothing": (
        {"containers": [container(cpu=2)], "initContainers": [container(cpu=1)]},
        {"cpu": 2000},
    ),
    "the largest init container counts, for each resource": (
        {
            "containers": [container(cpu=2, memory="1Mi")],
            "initContainers": [container(cpu=3), container(memory="5Mi")],
        },
        {"cpu": 3000, "memory": 5 * MI},
    ),
    "a sidecar stays next to the containers": (
        {"containers": [container(cpu=2)], "initContainers": [container("Always", cpu=1)]},
        {"cpu": 3000},
    ),
    "an init container runs next to the sidecars before it": (
        {"containers": [container(cpu=1)], "initContainers": [container("Always", cpu=1), container(cpu=3)]},
        {"cpu": 4000},
    ),
    "an init container does not run next to later sidecars": (
        {"containers": [container(cpu=1)], "initContainers": [container(cpu=3), container("Always", cpu=1)]},
        {"cpu": 3000},
    ),
    "a pod-level request replaces those of the containers": (
        {"containers": [container(cpu="1m")], "resources": {"requests": {"cpu": 30, "memory": "1Mi"}}},
        {"cpu": 30_000, "memory": MI},
    ),
    "a pod-level request replaces those of init containers too": (
        {
            "containers": [container(cpu=1)],
            "initContainers": [container("Always", cpu=1), container(cpu=3)],
            "resources": {"requests": {"cpu": 8}},
        },
        {"cpu": 8000},
    ),
    "a pod-level limit is the request of containers without one": (
        {"containers": [container(cpu=1)], "resources": {"limits": {"cpu": 4, "memory": "2Mi"}}},
        {"cpu": 1000, "memory": 2 * MI},
    ),
    "a pod-level limit of huge pages is the request": (
        {
            "containers": [container(cpu=1, limits={"hugepages-2Mi": "2Mi"})],
            "resources": {"limits": {"hugepages-2Mi": "4Mi"}},
        },
        {"cpu": 1000, "hugepages-2Mi": 4 * MI},
    ),
    "devices have no pod level": (
        {"containers": [container(cpu=1)], "resources": {"requests": {"nvidia.com/gpu": 8}}},
        {"cpu": 1000},
    ),
    "overhead is added to a pod-level request": (
        {
            "containers": [container(cpu=1)],
            "resources": {"requests": {"cpu": 2}},
            "overhead": {"cpu": "100m"},
        },
        {"cpu": 2100},
    ),
    "fractions of a millicore are rounded up for each container": (
        {"containers": [container(cpu="1500u"), container(cpu="1500u")]},
        {"cpu": 4},
    ),
    "fractions of a byte are rounded up once": (
        {"containers": [container(memory="500m"), container(memory="500m")]},
        {"memory": 1},
    ),
    "overhead is added": (
        {"containers": [container(cpu=1)], "overhead": {"cpu": "100m", "memory": "1Mi"}},
        {"cpu": 1100, "memory": MI},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pod_requests_follow_kubernetes(name: str) -> None:
    spec, expected = CASES[name]
    assert pod_requests(encode_template({"spec": spec})) == expected


@pytest.mark.parametrize("quantity", ["four", "", "-1", "1" * 65])
def test_an_invalid_quantity_is_refused(quantity: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity of cpu"):
        pod_requests(encode_template({"spec": {"containers": [container(cpu=quantity)]}}))
