"""Defaults that the API server adds to pods, and limits from LimitRanges and from containers.

Pods that violate a limit are never created, so their gang must not be admitted. Source: Kueue's
AdjustResources, ValidateResources and ValidateLimitRange in pkg/workload/resources.go, and
pkg/util/limitrange.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from muster.admission import QuantityError
from muster.admission.quantities import parse
from muster.objects.core import RuntimeClass
from muster.objects.meta import Object, View
from muster.objects.pods import (
    Container,
    PodSpec,
    PodTemplate,
    ResourceRequirements,
    Template,
    pod_requests,
    read_template,
    spec_requests,
    with_pod_level_defaults,
)

CONTAINER, POD = "Container", "Pod"
Quantities = dict[str, str | int | float]
Amounts = Mapping[str, int]


class LimitRangeItem(View):
    """The bounds and defaults of containers or pods."""

    type: str = ""  # Container | Pod | PersistentVolumeClaim
    max: Quantities = {}
    min: Quantities = {}
    default: Quantities = {}  # of limits
    default_request: Quantities = {}


class LimitRangeSpec(View):
    """The bounds and defaults of a namespace."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object):
    """`v1` LimitRange: bounds and defaults of containers and pods in its namespace."""

    spec: LimitRangeSpec = LimitRangeSpec()


def adjusted(
    template: Template, ranges: Iterable[LimitRange] = (), runtime_classes: Mapping[str, RuntimeClass] = {}
) -> Template:
    """Returns the template as the API server admits its pods: with the overhead of their RuntimeClass, and
    with defaults of `ranges`, the namespace's LimitRanges, of which the first takes precedence.

    Does the same as Kueue's AdjustResources, but in the order of the API server: missing requests are set to
    the container's limits, and pod-level requests are set (SetDefaults_Pod), before LimitRanges apply
    (plugin/pkg/admission/limitranger). In another order a small default would hide usage.
    Returns the template unchanged if the result cannot be counted (`uncountable`).
    """
    try:
        counted = with_overhead(with_defaults(template, ranges), runtime_classes)
        if counted is not template:
            pod_requests(counted)
    except QuantityError:
        return template
    return counted


def uncountable(*objects: LimitRange | RuntimeClass) -> str | None:
    """Returns a message on the first quantity too large to count, such as 1e400, which Kubernetes allows."""
    for obj in objects:
        for resource, quantity in _quantities(obj):
            try:
                parse(resource, quantity)
            except QuantityError as error:
                kind = "LimitRange" if isinstance(obj, LimitRange) else "RuntimeClass"
                return f"{kind} {obj.key} can't be counted with ({error}): have an administrator correct it"
    return None


def _quantities(obj: LimitRange | RuntimeClass) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(obj, RuntimeClass):
        yield from obj.overhead.pod_fixed.items()
        return
    for item in obj.spec.limits:
        for quantities in (item.max, item.min, item.default, item.default_request):
            yield from quantities.items()


def with_overhead(template: Template, runtime_classes: Mapping[str, RuntimeClass]) -> Template:
    """Returns the requests with the overhead of the pod's RuntimeClass."""
    read = read_template(template)
    runtime_class = runtime_classes.get(read.spec.runtime_class_name)
    if runtime_class is None or read.spec.overhead or not runtime_class.overhead.pod_fixed:
        return template
    return _encoded(read, replace(read.spec, overhead=runtime_class.overhead.pod_fixed))


def with_defaults(template: Template, ranges: Iterable[LimitRange]) -> Template:
    """Returns the template with the defaults that the LimitRanges give its containers."""
    limits: Quantities = {}
    requests: Quantities = {}
    for item in _items(ranges, CONTAINER):
        limits = {**item.default, **limits}
        requests = {**item.default_request, **requests}
    if not (limits or requests):
        return template

    def with_default_resources(container: Container) -> Container:
        own = container.resources
        return replace(
            container,
            resources=ResourceRequirements(
                limits={**limits, **own.limits}, requests={**requests, **own.limits, **own.requests}
            ),
        )

    read = read_template(template)
    changed = replace(
        read.spec,
        containers=tuple(map(with_default_resources, read.spec.containers)),
        init_containers=tuple(map(with_default_resources, read.spec.init_containers)),
        resources=with_pod_level_defaults(read.spec),
    )
    return _encoded(read, changed)


def _encoded(template: PodTemplate, spec: PodSpec) -> Template:
    return Template(msgspec.json.encode(replace(template, spec=spec)))


def refusal(template: PodTemplate, ranges: Sequence[LimitRange]) -> str:
    """Returns a sentence about the first request of the pods that is not allowed; empty if all are.

    `ranges` are the namespace's LimitRanges. Raises: QuantityError.
    """
    spec = template.spec
    container_items, pod_items = (list(_items(ranges, kind)) for kind in (CONTAINER, POD))
    for container in (*spec.init_containers, *spec.containers):
        violation = _container_violation(container, container_items)
        if violation:
            return f"container {container.name} {violation}"
    excess = _above(*map(_amounts, (spec.resources.requests, spec.resources.limits)))
    if excess:
        return f"each of its pods requests more {excess} than its own limit"
    requests = spec_requests(spec) if pod_items else {}
    violation = _range_violation(requests, requests, pod_items)
    return f"each of its pods {violation}" if violation else ""


def _items(ranges: Iterable[LimitRange], kind: str) -> Iterator[LimitRangeItem]:
    return (item for limits in ranges for item in limits.spec.limits if item.type == kind)


def _container_violation(container: Container, items: list[LimitRangeItem]) -> str:
    resources = container.resources
    if not (resources.limits or items):
        return ""
    limits, requests = _amounts(resources.limits), _amounts(resources.requests)
    excess = _above(requests, limits)
    if excess:
        return f"requests more {excess} than its own limit"
    requests = {**limits, **requests}
    return _range_violation(_merged(min, requests, limits), _merged(max, requests, limits), items)


def _range_violation(lowest: Amounts, highest: Amounts, items: Iterable[LimitRangeItem]) -> str:
    for item in items:
        excess = _above(highest, _amounts(item.max))
        if excess:
            return f"requests more {excess} than a LimitRange allows"
        shortage = _above(_amounts(item.min), lowest)
        if shortage:
            return f"requests less {shortage} than a LimitRange requires"
    return ""


def _above(amounts: Amounts, bounds: Amounts) -> str:
    """Returns the first resource whose amount exceeds its bound; empty if there is none."""
    return next((name for name in sorted(amounts) if name in bounds and amounts[name] > bounds[name]), "")


def _merged(choose: Callable[[int, int], int], requests: Amounts, limits: Amounts) -> Amounts:
    return {
        **requests,
        **limits,
        **{name: choose(requests[name], limits[name]) for name in requests.keys() & limits.keys()},
    }


def _amounts(quantities: Quantities) -> Amounts:
    return {resource: parse(resource, quantity) for resource, quantity in quantities.items()}
