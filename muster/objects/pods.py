"""Pod templates: kept as the received bytes, decoded on demand.

A thousand gangs repeat a few templates, so decoded templates are cached by their bytes.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from muster.admission import QuantityError
from muster.admission.quantities import parse
from muster.objects.cache import ByteCache
from muster.objects.meta import View

Template = msgspec.Raw  # a PodTemplateSpec as JSON


class ResourceRequirements(View):
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class Container(View):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""


class PodSpec(View):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, str | int | float] = {}
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    scheduling_gates: tuple[dict[str, Any], ...] = ()
    priority_class_name: str = ""
    runtime_class_name: str = ""
    node_name: str = ""


class TemplateMeta(View):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(View):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


def encode_template(template: Mapping[str, Any]) -> Template:
    return Template(msgspec.json.encode(template))


def own_template(template: Template) -> Template:
    """Returns a copy that does not keep alive the message that it was decoded from."""
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
    return _DECODED(bytes(template)).template


def pod_requests(template: Template) -> Mapping[str, int]:
    """Returns the requests of one pod, in the core's units: the sum of its containers or its largest init
    container, whichever is more, plus overhead; a missing request is the limit.

    Source: Kubernetes' component-helpers resource.PodRequests, Kueue's UseLimitsAsMissingRequestsInPod.
    Raises: QuantityError for a quantity that Kubernetes would refuse too.
    """
    return _DECODED(bytes(template)).requests


def spec_requests(spec: PodSpec) -> Mapping[str, int]:
    """Returns `pod_requests` of a pod's spec. Raises: QuantityError."""
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.init_containers:
        asked = _total((sidecars, container_requests(container)))
        if container.restart_policy == "Always":  # a sidecar: it keeps running
            sidecars = asked
        starting = {r: max(starting.get(r, 0), asked.get(r, 0)) for r in {*starting, *asked}}
    running = _total((sidecars, *(container_requests(c) for c in spec.containers)))
    most = {r: max(running.get(r, 0), starting.get(r, 0)) for r in {*running, *starting}}
    return _total((most, {r: parse(r, q) for r, q in spec.overhead.items()}))


def container_requests(container: Container) -> dict[str, int]:
    """Returns a container's requests. Raises: QuantityError, also for a negative request."""
    both = {**container.resources.limits, **container.resources.requests}
    amounts = {resource: parse(resource, quantity) for resource, quantity in both.items()}
    for resource, amount in amounts.items():
        if amount < 0:
            raise QuantityError(resource, both[resource])
    return amounts


def _total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total
