"""Rules of the cluster and of what is installed in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stacks.cluster import Existing, Gke
from stacks.problems import Finding

if TYPE_CHECKING:
    from stacks.settings import Settings


def gke_needs_a_project(settings: "Settings") -> Iterator[Finding]:
    if isinstance(settings.cluster, Gke) and not settings.project:
        yield Finding(
            ("gcp:project",), "the Google Cloud project that the cluster belongs to", "add `gcp:project`"
        )


def operators_suit_the_cluster(settings: "Settings") -> Iterator[Finding]:
    kuberay, path = settings.kuberay, ("muster:kuberay",)
    if kuberay.install == "addon" and isinstance(settings.cluster, Existing):
        yield Finding(
            (*path, "install"),
            "helm or existing: the add-on is switched on where a GKE cluster is made",
            "write helm",
        )
    if kuberay.version and kuberay.install != "helm":
        yield Finding(
            (*path, "version"),
            f"nothing: with install: {kuberay.install} the version is not this stack's to choose",
            "remove `version`, or write install: helm",
        )
    if settings.admission.engine == "muster" and settings.controller is None:
        yield Finding(
            ("muster:controller",),
            "the controller that engine muster needs",
            "add `muster:controller: {image: …}`, or choose engine: kueue",
        )
