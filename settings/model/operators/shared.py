"""What the settings of all operators share: pinned versions and images, and what their pods may use."""

import re
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Doc

from settings.model.base import Model, Quantity, amount, refuse

RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._:/-]*?(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


def _release(version: str) -> str:
    if not RELEASE.fullmatch(version):
        refuse("a whole version without 'v'", "pin one release by all three numbers, as in 1.6.2")
    return version


def _pinned_image(image: str) -> str:
    match = IMAGE.fullmatch(image)
    if match is None or match["tag"] == ":latest" or not (match["tag"] or match["digest"]):
        refuse(
            "an image pinned by digest or by a tag other than latest",
            "write repository@sha256:… (or repository:1.2.3)",
        )
    return image


def _feature_gate(name: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        refuse("the name of a feature gate", "write it as the operator's documentation does, in CamelCase")
    return name


class Image(NamedTuple):
    """An image as charts take it: `tag` carries the digest too, if there is one."""

    repository: str
    tag: str

    @classmethod
    def parse(cls, image: str) -> Self:
        """Splits repository:tag or repository:tag@sha256:…"""
        name, at, digest = image.partition("@")
        repository, _, tag = name.rpartition(":")
        return cls(repository, f"{tag}{at}{digest}")


def _chart_image(image: str) -> str:
    match = IMAGE.fullmatch(_pinned_image(image))
    if match is None or not match["tag"]:
        refuse(
            "an image with a tag: the chart joins repository and tag by a colon",
            "write repository:1.2.3, or repository:1.2.3@sha256:… to pin the digest too",
        )
    return image


Release = Annotated[str, AfterValidator(_release), Doc("version")]
PinnedImage = Annotated[str, AfterValidator(_pinned_image), Doc("pinned image")]
ChartImage = Annotated[str, AfterValidator(_chart_image), Doc("image with tag")]
FeatureGate = Annotated[str, AfterValidator(_feature_gate), Doc("feature gate")]
Replicas = Annotated[int, Field(ge=1)]


class Amounts(Model):
    """Of both resources, always: Helm keeps the chart's own value of one that is left out."""

    cpu: Quantity
    """In cores, such as 2 or "500m"."""
    memory: Quantity
    """In bytes, such as "512Mi"."""


class Resources(Model):
    """What an operator's container requests, and the most it may use."""

    requests: Amounts
    """What is set aside on its node."""
    limits: Amounts
    """What it never gets more than; at least the requests."""

    @model_validator(mode="after")
    def _requests_within_limits(self) -> Self:
        for name in ("cpu", "memory"):
            if amount(getattr(self.requests, name)) > amount(getattr(self.limits, name)):
                refuse(
                    f"requests.{name} of at most limits.{name} (Kubernetes)",
                    "lower the one or raise the other",
                )
        return self

    @classmethod
    def of(cls, cpu: str, memory: str, *, cpu_limit: str, memory_limit: str) -> Self:
        requests, limits = Amounts(cpu=cpu, memory=memory), Amounts(cpu=cpu_limit, memory=memory_limit)
        return cls(requests=requests, limits=limits)


class ApiClient(Model):
    """How fast an operator may talk to the API server: requests a second, and how many at once."""

    qps: Annotated[int, Field(ge=1)]
    """Requests a second, on average."""
    burst: Annotated[int, Field(ge=1)]
    """Requests at once, for a moment."""
