"""Pods that a stack declares (CIS GKE Benchmark 1.9, section 4.6)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from policies.pods import POD_SPECS, containers, pods
from policies.reading import TEXT_LIST, pick
from policies.rule import Config, Resource, resource_rule
from policies.rules.charts import RELEASE

# The last part of an image's name: a registry's port is before the last slash.
PINNED = re.compile(r"[^/]*(:(?!latest$)[^:@/]+|@sha256:[0-9a-f]{64})")
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
SECCOMP_PROFILES = ("RuntimeDefault", "Localhost")


@resource_rule(
    "cis-gke-4.6.2-seccomp",
    *POD_SPECS,
    source="CIS GKE 1.9, 4.6.2; Checkov CKV_K8S_31",
    severity="medium",
)
def seccomp(resource: Resource) -> Iterator[str]:
    """Containers may make only the system calls that the runtime's seccomp profile allows."""
    for pod in pods(resource):
        whole = pick(pod.spec, "securityContext", "seccompProfile", "type")
        profiles = [
            pick(container, "securityContext", "seccompProfile", "type") or whole
            for _, container in containers(pod)
        ]
        if not all(profile in SECCOMP_PROFILES for profile in profiles):
            yield f'set {pod.path}.securityContext.seccompProfile.type to "RuntimeDefault"'


@resource_rule(
    "muster-images-are-pinned",
    *POD_SPECS,
    source="Kubernetes, container images; Checkov CKV_K8S_14",
    severity="high",
)
def images_are_pinned(resource: Resource) -> Iterator[str]:
    """Images have a digest, or a tag other than latest, so that the reviewed version runs."""
    for path, image in named_images(resource):
        if not PINNED.fullmatch(image.rpartition("/")[2]):
            yield f'pin {path}, such as repository@sha256:… or repository:1.2.3: it is "{image}"'


@resource_rule(
    "muster-images-have-a-digest",
    *POD_SPECS,
    RELEASE,
    source="Kubernetes, container images: a tag can be moved to other code",
    severity="medium",
)
def images_have_a_digest(resource: Resource) -> Iterator[str]:
    """Images that the stack names, in pods and in the values of charts, have a digest: a tag can be moved by
    anyone that may push to the registry."""
    for path, image in named_images(resource):
        if not DIGEST.search(image):
            yield f'write {path} as repository@sha256:…: it is "{image}"'


@resource_rule(
    "cis-gke-5.1.4-images-are-from-allowed-registries",
    *POD_SPECS,
    RELEASE,
    source="CIS GKE 1.9, 5.1.4; Checkov CKV_GCP_66",
    severity="high",
    parameters={"registries": TEXT_LIST},
)
def images_are_from_allowed_registries(resource: Resource, config: Config) -> Iterator[str]:
    """Images are from registries that the environment's configuration lists, each with the publishers that it
    trusts: in docker.io anyone can publish."""
    registries = config.get("registries")
    if registries is None:
        return
    for path, image in named_images(resource):
        if not any(fnmatchcase(full_name(image), pattern) for pattern in registries):
            yield (
                f"copy {path} to one of {', '.join(registries)}, or add its registry to "
                f'policies/config/{config["environment"]}.json: it is "{full_name(image)}"'
            )


def named_images(resource: Resource) -> Iterator[tuple[str, str]]:
    """Yields the images that a resource names, with their paths; not those that the same stack builds, which
    are unknown before `up`."""
    if resource.kind == RELEASE:
        yield from _chart_images(resource.props.get("values"), "values")
        return
    for pod in pods(resource):
        for path, container in containers(pod):
            try:
                yield f"{path}.image", container.get("image") or ""
            except UnknownValueError:
                continue


def _chart_images(values: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields images that values have as one text, or as repository and tag (Helm, best practices)."""
    if isinstance(values, Mapping):
        if (repository := values.get("repository")) and isinstance(repository, str):
            registry, tag = values.get("registry"), str(values.get("tag") or "")
            name = f"{registry}/{repository}" if registry else repository
            yield path, f"{name}:{tag}" if tag else name
        for key, inner in values.items():
            if key == "image" and isinstance(inner, str) and "repository" not in values:
                yield f"{path}.image", inner
            yield from _chart_images(inner, f"{path}.{key}")
    elif isinstance(values, Sequence) and not isinstance(values, str):
        for i, inner in enumerate(values):
            yield from _chart_images(inner, f"{path}[{i}]")


def full_name(image: str) -> str:
    """Returns the image with its registry: docker.io, if it names none (containerd)."""
    registry, slash, _ = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return image
    return f"docker.io/{image}"
