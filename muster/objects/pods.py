"""Pod templates: stored as the received bytes, and decoded on demand.

Many gangs have equal templates, so decoded templates are cached by their bytes.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from muster.admission import QuantityError
from muster.admission.quantities import MILLI, exact, whole_units
from muster.objects.cache import ByteCache
from muster.objects.meta import View

Template = msgspec.Raw  # a PodTemplateSpec as JSON
NO_TEMPLATE = Template(b"{}")
Amounts = dict[str, Fraction]
OVERCOMMITTED = ("cpu", "memory")  # resources with pod-level requests that may be overcommitted
HUGE_PAGES = "hugepages-"


class ResourceRequirements(View):
    """The requests and limits of a container or pod, as written."""

    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class Container(View):
    """A container with its resources."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""


class ResourceClaimRef(View):
    """A claim of a pod (PodResourceClaim): a ResourceClaim, or one created from a ResourceClaimTemplate."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(View):
    """The containers, the resources and the placement of a pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    """Pod-level resources: for all containers together."""
    overhead: dict[str, str | int | float] = {}
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    scheduling_gates: tuple[dict[str, Any], ...] = ()
    priority_class_name: str = ""
    runtime_class_name: str = ""
    resource_claims: tuple[ResourceClaimRef, ...] = ()
    node_name: str = ""


class TemplateMeta(View):
    """The labels and annotations of a template's pods."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(View):
    """A decoded pod template."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


def encode_template(template: Mapping[str, Any]) -> Template:
    """Returns a pod template as stored."""
    return Template(msgspec.json.encode(template))


def own_template(template: Template) -> Template:
    """Returns a copy that does not hold the message from which it was decoded in memory."""
    return template.copy()


class _DecodedTemplate:
    """A decoded template and its requests."""

    def __init__(self, json: bytes) -> None:
        self.template = msgspec.json.decode(json, type=PodTemplate) if json else PodTemplate()

    @cached_property
    def requests(self) -> Mapping[str, int]:
        return spec_requests(self.template.spec)


_DECODED = ByteCache(_DecodedTemplate)


def read_template(template: Template) -> PodTemplate:
    """Returns the decoded template; templates are cached by their bytes."""
    return _DECODED(bytes(template)).template


def pod_requests(template: Template) -> Mapping[str, int]:
    """Returns the requests of one pod, in the core's units, as the scheduler counts them: the sum over its
    containers or the largest init container, whichever is larger, or instead its pod-level request; plus
    overhead. A missing request defaults to the limit.

    Source: Kubernetes v1.36.3 component-helpers resource.PodRequests, after the defaults that the API server
    sets at a pod's creation (pkg/apis/core/v1/defaults.go: SetDefaults_Pod).
    Raises: QuantityError for a quantity that Kubernetes also rejects.
    """
    return _DECODED(bytes(template)).requests


def spec_requests(spec: PodSpec) -> Mapping[str, int]:
    """Returns `pod_requests` of a pod's spec. Raises: QuantityError."""
    of_containers = _aggregate(spec, lambda container: _stored(container_requests(container)))
    total = _total((of_containers | _pod_level_requests(spec), _stored(_amounts(spec.overhead))))
    return {resource: whole_units(resource, amount) for resource, amount in total.items()}


def with_pod_level_defaults(spec: PodSpec) -> ResourceRequirements:
    """Returns the pod-level resources with the requests that the API server adds. Raises: QuantityError."""
    added = _pod_level_requests(spec)
    own = spec.resources.requests
    texts = {r: f"{a * MILLI}m" for r, a in added.items() if r not in own}  # amounts are whole thousandths
    return replace(spec.resources, requests={**texts, **own})


def container_requests(container: Container) -> Amounts:
    """Returns a container's requests, cpu in cores. Raises: QuantityError, also for a negative request."""
    return _amounts({**container.resources.limits, **container.resources.requests})


def _container_limits(container: Container) -> Amounts:
    return _amounts(container.resources.limits)


def _aggregate(spec: PodSpec, amounts_of: Callable[[Container], Amounts]) -> Amounts:
    """Returns the sum over the containers, or the largest init container if larger (component-helpers
    resource.AggregateContainerRequests)."""
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.init_containers:
        amounts = _total((sidecars, amounts_of(container)))
        if container.restart_policy == "Always":  # a sidecar, which keeps running
            sidecars = amounts
        starting = _largest(starting, amounts)
    running = _total((sidecars, *map(amounts_of, spec.containers)))
    return _largest(running, starting)


def _pod_level_requests(spec: PodSpec) -> Amounts:
    """Returns the pod-level requests, each of which replaces the containers' requests.

    With any pod-level limit, a missing request defaults to the containers' requests, or if there are none, to
    the limit. For huge pages, which cannot be overcommitted, it defaults to the limit, and this to the
    containers' limits (defaultPodRequests, defaultHugePagePodLimits)."""
    level = spec.resources
    if not (level.requests or level.limits):
        return {}
    requests, limits = (
        _amounts({r: q for r, q in quantities.items() if has_pod_level(r)})
        for quantities in (level.requests, level.limits)
    )
    of_containers = _aggregate(spec, _container_limits)
    huge = {r: a for r, a in of_containers.items() if r.startswith(HUGE_PAGES) and r not in level.requests}
    by_containers = _aggregate(spec, container_requests) if level.limits or huge else {}
    overcommitted = {r: a for r, a in by_containers.items() if r in OVERCOMMITTED}
    return _stored({**huge, **limits, **overcommitted, **requests})


def has_pod_level(resource: str) -> bool:
    """Returns whether pods may have pod-level requests of the resource (IsSupportedPodLevelResource)."""
    return resource in OVERCOMMITTED or resource.startswith(HUGE_PAGES)


def _amounts(quantities: Mapping[str, str | int | float]) -> Amounts:
    """Returns exact amounts. Raises: QuantityError, also for a negative amount."""
    amounts = {resource: exact(resource, quantity) for resource, quantity in quantities.items()}
    for resource, amount in amounts.items():
        if amount < 0:
            raise QuantityError(resource, quantities[resource])
    return amounts


def _stored(amounts: Amounts) -> Amounts:
    """Returns amounts as the API server stores them, in whole thousandths (SetDefaults_ResourceList)."""
    return {resource: Fraction(ceil(amount * MILLI), MILLI) for resource, amount in amounts.items()}


def _total(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, Fraction(0)) + amount
    return total


def _largest(first: Amounts, second: Amounts) -> Amounts:
    return {r: max(first.get(r, Fraction(0)), second.get(r, Fraction(0))) for r in {*first, *second}}
