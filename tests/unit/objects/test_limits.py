"""Requests that LimitRanges or containers' own limits do not allow, and defaults."""

from typing import Any

import msgspec
import pytest

from muster.admission import QuantityError
from muster.objects.core import RuntimeClass
from muster.objects.limits import LimitRange, adjusted, refusal, with_defaults
from muster.objects.pods import PodTemplate, pod_requests, read_template


def container(name: str = "main", limits: Any = None, **requests: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests, "limits": limits or {}}}


def template(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> PodTemplate:
    spec = {"containers": containers, "initContainers": init}
    return msgspec.convert({"spec": spec}, PodTemplate)


def as_a_whole(**resources: Any) -> PodTemplate:
    """Returns a template with pod-level resources."""
    return msgspec.convert({"spec": {"containers": [container()], "resources": resources}}, PodTemplate)


def limit_range(kind: str, **bounds: Any) -> LimitRange:
    return msgspec.convert({"spec": {"limits": [{"type": kind, **bounds}]}}, LimitRange)


TWO_CPUS = limit_range("Container", max={"cpu": "2"})
HALF_A_CPU = limit_range("Container", min={"cpu": "500m"})
POD = limit_range("Pod", max={"cpu": "3"}, min={"memory": "1Gi"})
VOLUME = limit_range("PersistentVolumeClaim", max={"storage": "1"})

CASES: dict[str, tuple[PodTemplate, tuple[LimitRange, ...], str]] = {
    "nothing asked, nothing refused": (template(container()), (TWO_CPUS, HALF_A_CPU), ""),
    "within its own limit": (template(container(cpu=1, limits={"cpu": "1"})), (), ""),
    "no limit of the resource": (template(container(cpu=4, limits={"memory": "1Gi"})), (), ""),
    "above its own limit": (
        template(container(), container("b", cpu="1100m", limits={"cpu": "1"})),
        (),
        "container b requests more cpu than its own limit",
    ),
    "an init container above its own limit": (
        template(container(), init=(container("init", cpu=2, limits={"cpu": "1"}),)),
        (),
        "container init requests more cpu than its own limit",
    ),
    "a pod above its own limit": (
        as_a_whole(requests={"cpu": 2}, limits={"cpu": 1}),
        (),
        "each of its pods requests more cpu than its own limit",
    ),
    "a pod-level request above a pod's maximum": (
        as_a_whole(requests={"cpu": 4, "memory": "1Gi"}),
        (POD,),
        "each of its pods requests more cpu than a LimitRange allows",
    ),
    "the maximum": (template(container(cpu=2)), (TWO_CPUS,), ""),
    "above the maximum": (
        template(container(cpu="2.5")),
        (VOLUME, TWO_CPUS),
        "container main requests more cpu than a LimitRange allows",
    ),
    "a limit above the maximum": (
        template(container(cpu=1, limits={"cpu": 3})),
        (TWO_CPUS,),
        "container main requests more cpu than a LimitRange allows",
    ),
    "the tightest of several counts": (
        template(container(cpu="1.5")),
        (TWO_CPUS, limit_range("Container", max={"cpu": 1})),
        "container main requests more cpu than a LimitRange allows",
    ),
    "below the minimum": (
        template(container(cpu="100m", limits={"cpu": "1"})),
        (HALF_A_CPU,),
        "container main requests less cpu than a LimitRange requires",
    ),
    "a pod's containers together": (
        template(container(cpu=2), container("b", cpu=2)),
        (TWO_CPUS, POD),
        "each of its pods requests more cpu than a LimitRange allows",
    ),
    "a pod below the minimum": (
        template(container(memory="1Mi")),
        (POD,),
        "each of its pods requests less memory than a LimitRange requires",
    ),
    "what a pod may": (template(container(cpu=3, memory="1Gi")), (POD,), ""),
}


@pytest.mark.parametrize(("of", "ranges", "expected"), CASES.values(), ids=CASES.keys())
def test_a_refusal_names_the_container_and_the_resource(
    of: PodTemplate, ranges: tuple[LimitRange, ...], expected: str
) -> None:
    assert refusal(of, ranges) == expected


def test_defaults_come_from_the_first_limit_range() -> None:
    """A container's own values take precedence, its limits for its requests too; then those of the first
    LimitRange."""
    own = template(container(cpu="3"), init=(container("init", limits={"memory": "1Gi"}),))
    first = limit_range("Container", default={"cpu": "2", "memory": "2Gi"}, defaultRequest={"cpu": "1"})
    second = limit_range("Container", default={"cpu": "9"}, defaultRequest={"cpu": "9", "memory": "8Gi"})
    adjusted_requests = with_defaults(msgspec.Raw(msgspec.json.encode(own)), (VOLUME, first, second))
    (main,), (init,) = (
        read_template(adjusted_requests).spec.containers,
        read_template(adjusted_requests).spec.init_containers,
    )
    assert main.resources.requests == {"cpu": "3", "memory": "8Gi"}
    assert main.resources.limits == {"cpu": "2", "memory": "2Gi"}
    assert init.resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert init.resources.limits == {"cpu": "2", "memory": "1Gi"}


def test_a_request_defaults_to_the_containers_limit_first() -> None:
    """A container's own limit takes precedence over a LimitRange's default request."""
    own = template(container(limits={"cpu": "4", "example.com/fpga": "2"}))
    small = limit_range("Container", defaultRequest={"cpu": "100m", "memory": "1Gi"})
    adjusted_requests = adjusted(msgspec.Raw(msgspec.json.encode(own)), (small,))
    assert pod_requests(adjusted_requests) == {"cpu": 4000, "memory": 2**30, "example.com/fpga": 2}


SMALL_DEFAULT = limit_range("Container", default={"cpu": "100m"}, defaultRequest={"cpu": "100m"})
POD_LEVELS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "the limit, of containers that had no request before": ({"limits": {"cpu": "8"}}, {"cpu": 8000}),
    "the request": ({"requests": {"cpu": "8"}}, {"cpu": 8000}),
    "the defaults, without a pod level of theirs": ({"limits": {"memory": 1}}, {"cpu": 100, "memory": 1}),
}


@pytest.mark.parametrize(("resources", "requests"), POD_LEVELS.values(), ids=POD_LEVELS)
def test_pod_level_requests_are_set_before_the_defaults_of_containers(
    resources: dict[str, Any], requests: dict[str, int]
) -> None:
    own = {"spec": {"containers": [container()], "resources": resources}}
    assert pod_requests(adjusted(msgspec.Raw(msgspec.json.encode(own)), (SMALL_DEFAULT,))) == requests


GVISOR = msgspec.convert(
    {"metadata": {"name": "gvisor"}, "overhead": {"podFixed": {"cpu": "250m", "memory": "128Mi"}}},
    RuntimeClass,
)
OVERHEADS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "of its class": ({"runtimeClassName": "gvisor"}, {"cpu": 1250, "memory": 2**27}),
    "none without a class": ({}, {"cpu": 1000}),
    "none of an unknown class": ({"runtimeClassName": "kata"}, {"cpu": 1000}),
    "its own": ({"runtimeClassName": "gvisor", "overhead": {"cpu": "1"}}, {"cpu": 2000}),
}


@pytest.mark.parametrize(("spec", "requests"), OVERHEADS.values(), ids=OVERHEADS)
def test_overhead_comes_from_the_runtime_class(spec: dict[str, Any], requests: dict[str, int]) -> None:
    own = {"spec": {"containers": [container(cpu="1")], **spec}}
    adjusted_requests = adjusted(msgspec.Raw(msgspec.json.encode(own)), (), {"gvisor": GVISOR})
    assert pod_requests(adjusted_requests) == requests


def test_a_template_without_defaults_stays_the_same() -> None:
    own = msgspec.Raw(msgspec.json.encode(template(container())))
    assert with_defaults(own, (VOLUME, TWO_CPUS)) is own


def test_an_invalid_quantity_raises() -> None:
    with pytest.raises(QuantityError):
        refusal(template(container(cpu="many", limits={"cpu": "1"})), ())
