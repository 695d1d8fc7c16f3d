"""Defaults that the API server adds to pods, and bounds by LimitRanges and containers' own limits.

Pods that violate them are never created, so their gang must not be admitted. Source: Kueue's AdjustResources,
ValidateResources and ValidateLimitRange in pkg/workload/resources.go, and pkg/util/limitrange.
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
    type: str = ""  # Container | Pod | PersistentVolumeClaim
    max: Quantities = {}
    min: Quantities = {}
    default: Quantities = {}  # of limits
    default_request: Quantities = {}


class LimitRangeSpec(View):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object):
    spec: LimitRangeSpec = LimitRangeSpec()


def adjusted(
    template: Template, ranges: Iterable[LimitRange] = (), runtime_classes: Mapping[str, RuntimeClass] = {}
) -> Template:
    """Returns the template as the API server admits its pods: with the overhead of their RuntimeClass, and
    with defaults of `ranges`, the namespace's LimitRanges, of which the first takes precedence.

    As Kueue's AdjustResources, but in the order of the API server: missing requests are first the limits of
    the same container, and pod-level requests are set (SetDefaults_Pod), before LimitRanges apply
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
    read = read_template(template)
    known = runtime_classes.get(read.spec.runtime_class_name)
    if known is None or read.spec.overhead or not known.overhead.pod_fixed:
        return template
    return _encoded(read, replace(read.spec, overhead=known.overhead.pod_fixed))


def with_defaults(template: Template, ranges: Iterable[LimitRange]) -> Template:
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
    """Returns the first request of its pods that is not allowed, as a sentence, or an empty string.

    `ranges` are the namespace's. Raises: QuantityError.
    """
    spec = template.spec
    of_containers, of_pods = (list(_items(ranges, kind)) for kind in (CONTAINER, POD))
    for container in (*spec.init_containers, *spec.containers):
        found = _of_container(container, of_containers)
        if found:
            return f"container {container.name} {found}"
    over = _above(*map(_amounts, (spec.resources.requests, spec.resources.limits)))
    if over:
        return f"each of its pods requests more {over} than its own limit"
    asked = spec_requests(spec) if of_pods else {}
    found = _outside(asked, asked, of_pods)
    return f"each of its pods {found}" if found else ""


def _items(ranges: Iterable[LimitRange], kind: str) -> Iterator[LimitRangeItem]:
    return (item for limits in ranges for item in limits.spec.limits if item.type == kind)


def _of_container(container: Container, items: list[LimitRangeItem]) -> str:
    resources = container.resources
    if not (resources.limits or items):
        return ""
    limits, requests = _amounts(resources.limits), _amounts(resources.requests)
    over = _above(requests, limits)
    if over:
        return f"requests more {over} than its own limit"
    requests = {**limits, **requests}
    return _outside(_merged(min, requests, limits), _merged(max, requests, limits), items)


def _outside(least: Amounts, most: Amounts, items: Iterable[LimitRangeItem]) -> str:
    for item in items:
        over = _above(most, _amounts(item.max))
        if over:
            return f"asks for more {over} than a LimitRange allows"
        under = _above(_amounts(item.min), least)
        if under:
            return f"asks for less {under} than a LimitRange demands"
    return ""


def _above(amounts: Amounts, bounds: Amounts) -> str:
    """Returns the first resource whose amount exceeds its bound, or an empty string."""
    return next((name for name in sorted(amounts) if name in bounds and amounts[name] > bounds[name]), "")


def _merged(choose: Callable[[int, int], int], one: Amounts, other: Amounts) -> Amounts:
    return {
        **one,
        **other,
        **{name: choose(one[name], other[name]) for name in one.keys() & other.keys()},
    }


def _amounts(quantities: Quantities) -> Amounts:
    return {resource: parse(resource, quantity) for resource, quantity in quantities.items()}
