"""Types shared by the operators' settings: pinned versions and images, and resources of pods."""

import re
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Doc

from settings.model.base import Model, Quantity, amount, matching, refuse

RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._:/-]*?(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


def release_numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers of a release, without what follows a hyphen."""
    return tuple(map(int, version.partition("-")[0].split(".")))


def _pinned_image(image: str) -> str:
    match = IMAGE.fullmatch(image)
    if match is None or match["tag"] == ":latest" or not (match["tag"] or match["digest"]):
        refuse(
            "an image pinned by digest or by a tag other than latest",
            "write repository@sha256:… (or repository:1.2.3)",
        )
    return image


class Image(NamedTuple):
    """An image as charts expect it: `tag` includes the digest, if there is one."""

    repository: str
    tag: str

    @classmethod
    def parse(cls, image: str) -> Self:
        """Parses repository:tag or repository:tag@sha256:…"""
        name, at, digest = image.partition("@")
        repository, _, tag = name.rpartition(":")
        return cls(repository, f"{tag}{at}{digest}")


def _chart_image(image: str) -> str:
    match = IMAGE.fullmatch(_pinned_image(image))
    if match is None or not match["tag"]:
        refuse(
            "an image with a tag: the chart joins repository and tag with a colon",
            "write repository:1.2.3, or repository:1.2.3@sha256:… to pin the digest too",
        )
    return image


Release = Annotated[
    str,
    matching(RELEASE, "a full version without 'v'", "pin a release by all three numbers, such as 1.6.2"),
    Doc("version"),
]
PinnedImage = Annotated[str, AfterValidator(_pinned_image), Doc("pinned image")]
ChartImage = Annotated[str, AfterValidator(_chart_image), Doc("image with tag")]
FeatureGate = Annotated[
    str,
    matching(
        re.compile(r"[A-Z][A-Za-z0-9]*"),
        "the name of a feature gate",
        "write it as in the operator's documentation, in CamelCase",
    ),
    Doc("feature gate"),
]
Replicas = Annotated[int, Field(ge=1)]


class Amounts(Model):
    """CPU and memory. Both are required: Helm would keep the chart's value of an omitted one."""

    cpu: Quantity
    """CPU in cores, such as 2 or "500m"."""
    memory: Quantity
    """Memory in bytes, such as "512Mi"."""


# A controller without a single Workload needs about this much memory.
LEAST_LIMITS = {"cpu": "10m", "memory": "64Mi"}


class Resources(Model):
    """Requests and limits of an operator's container."""

    requests: Amounts
    """Reserved on the container's node."""
    limits: Amounts
    """The most that the container may use; at least the requests."""

    @model_validator(mode="after")
    def _limits_suffice(self) -> Self:
        for name in ("cpu", "memory"):
            if amount(getattr(self.requests, name)) > amount(getattr(self.limits, name)):
                refuse(
                    f"requests.{name} of at most limits.{name} (Kubernetes)",
                    "lower the request or raise the limit",
                )
        for name, least in LEAST_LIMITS.items():
            if amount(getattr(self.limits, name)) < amount(least):
                refuse(
                    f"limits.{name} of at least {least}: no operator starts with less (docs/performance.md)",
                    "raise it, or leave `resources` out",
                )
        return self

    @classmethod
    def of(cls, cpu: str, memory: str, *, cpu_limit: str, memory_limit: str) -> Self:
        """Returns the requests and limits of a container."""
        requests, limits = Amounts(cpu=cpu, memory=memory), Amounts(cpu=cpu_limit, memory=memory_limit)
        return cls(requests=requests, limits=limits)


class ApiClient(Model):
    """Rate limit of an operator's requests to the API server."""

    qps: Annotated[int, Field(ge=1)]
    """Average requests per second."""
    burst: Annotated[int, Field(ge=1)]
    """Requests allowed in a burst; at least `qps`."""

    @model_validator(mode="after")
    def _bursts_exceed_the_average(self) -> Self:
        if self.burst < self.qps:
            refuse(f"burst of at least qps, which is {self.qps}", "raise `burst` or lower `qps`")
        return self
