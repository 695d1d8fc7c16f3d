"""Pods that a stack declares (CIS GKE Benchmark 1.9, section 4.6)."""

import re
from collections.abc import Iterator

from pulumi_policy.proxy import UnknownValueError

from policies.pods import POD_SPECS, containers, pods
from policies.reading import pick
from policies.rule import Resource, resource_rule

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
    for pod in pods(resource):
        for path, container in containers(pod):
            try:
                image = container.get("image") or ""
            except UnknownValueError:  # built by the same stack, with a digest
                continue
            if not PINNED.fullmatch(image.rpartition("/")[2]):
                yield f'pin {path}.image, such as repository@sha256:… or repository:1.2.3: it is "{image}"'


@resource_rule(
    "muster-images-have-a-digest",
    *POD_SPECS,
    source="Kubernetes, container images: a tag can be moved to other code",
    severity="medium",
)
def images_have_a_digest(resource: Resource) -> Iterator[str]:
    """Images have a digest: a tag can be moved by anyone that may push to the registry."""
    for pod in pods(resource):
        for path, container in containers(pod):
            try:
                image = container.get("image") or ""
            except UnknownValueError:  # built by the same stack, with a digest
                continue
            if not DIGEST.search(image):
                yield f'write {path}.image as repository@sha256:…: it is "{image}"'
