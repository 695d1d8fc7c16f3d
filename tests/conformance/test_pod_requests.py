"""Requests of random pods, next to Kubernetes' own code: the API server's defaults, its LimitRanger and
PodRequests of the pinned version (tools/toolchain/modules/pod-requests)."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.objects.limits import LimitRange, adjusted
from muster.objects.pods import encode_template, pod_requests
from tools.testing.effort import THOROUGH
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.steps import Screen, StepError

PROPERTY = settings(max_examples=settings().max_examples * 20)

AMOUNTS: dict[str, tuple[str | int, ...]] = {
    "cpu": (0, 1, 3, "250m", "0.5", "1500u", "1n", "2e1", "1k"),
    "memory": (0, 1, "1Mi", "256Mi", "1G", "1.5Gi", "100m", "3e6"),
    "ephemeral-storage": ("1Gi", "500M"),
    "hugepages-2Mi": ("2Mi", "64Mi"),
    "hugepages-1Gi": ("1Gi",),
    "nvidia.com/gpu": (0, 1, 8),
    "example.com/fpga": (1, "2"),
}
STORED = {r: tuple(q for q in qs if q not in ("1500u", "1n")) for r, qs in AMOUNTS.items()}
LEVEL = ("cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "nvidia.com/gpu")  # the last is not counted


def quantities(
    *resources: str, of: dict[str, tuple[str | int, ...]] = AMOUNTS
) -> st.SearchStrategy[dict[str, str | int]]:
    optional = {resource: st.sampled_from(of[resource]) for resource in resources or of}
    return st.fixed_dictionaries({}, optional=optional)


def requirements(*resources: str) -> st.SearchStrategy[dict[str, Any]]:
    some = quantities(*resources)
    return st.fixed_dictionaries({}, optional={"requests": some, "limits": some})


def containers(least: int, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    container = st.fixed_dictionaries({"name": st.just("c"), "resources": requirements()}, optional=fields)
    return st.lists(container, min_size=least, max_size=3)


SPECS = st.fixed_dictionaries(
    {"containers": containers(1)},
    optional={
        "initContainers": containers(0, restartPolicy=st.just("Always")),
        "resources": requirements(*LEVEL),
        "overhead": quantities("cpu", "memory"),
    },
)


@st.composite
def limit_ranges(draw: st.DrawFn) -> dict[str, Any]:
    """Draws a LimitRange as the API server stores it: in whole thousandths, and a default limit is a default
    request too."""
    default = draw(quantities("cpu", "memory", "nvidia.com/gpu", of=STORED))
    requests = {**default, **draw(quantities("cpu", "memory", of=STORED))}
    return {"spec": {"limits": [{"type": "Container", "default": default, "defaultRequest": requests}]}}


class Kubernetes:
    """Kubernetes' code, as a process that answers line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout

    def requests(self, spec: dict[str, Any], ranges: list[dict[str, Any]]) -> dict[str, int]:
        self._to.write(json.dumps({"pod": {"spec": spec}, "limitRanges": ranges}) + "\n")
        self._to.flush()
        answer: dict[str, int] = json.loads(self._from.readline())
        return answer


@pytest.fixture(scope="module")
def kubernetes() -> Iterator[Kubernetes]:
    try:
        executable = ensure_tools(["pod-requests"], Screen())["pod-requests"].path
    except StepError as error:
        if THOROUGH:
            raise
        pytest.skip(f"Kubernetes' own PodRequests is built with Go, and that fails here: {error}")
    pipe = subprocess.PIPE
    with subprocess.Popen([str(executable)], stdin=pipe, stdout=pipe, text=True) as process:
        yield Kubernetes(process)
        assert process.stdin is not None
        process.stdin.close()


@PROPERTY
@given(spec=SPECS, ranges=st.lists(limit_ranges(), max_size=2))
def test_a_pod_is_counted_as_kubernetes_counts_it(
    kubernetes: Kubernetes, spec: dict[str, Any], ranges: list[dict[str, Any]]
) -> None:
    existing = [msgspec.convert(each, LimitRange) for each in ranges]
    counted = pod_requests(adjusted(encode_template({"spec": spec}), existing))
    assert counted == kubernetes.requests(spec, ranges)
