"""The cluster of a stack: one that GKE makes, or one that already runs."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from stacks.model import DnsLabel, Model, refuse

LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]+(-[a-z])?")
VERSION = re.compile(r"([0-9]+)\.([0-9]+)(\.[0-9]+(-gke\.[0-9]+)?)?")
CLUSTER_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")

# The first version that serves MutatingAdmissionPolicy as admissionregistration.k8s.io/v1; queued
# provisioning itself needs only 1.32.2-gke.1652000.
OLDEST_VERSION = (1, 36)


def _location(location: str) -> str:
    if not LOCATION.fullmatch(location):
        refuse("a zone such as us-west1-b or a region such as us-west1", "choose where the cluster runs")
    return location


def _cluster_name(name: str) -> str:
    if not CLUSTER_NAME.fullmatch(name):
        refuse(
            "1 to 40 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: Cluster.name)",
            "choose such a name",
        )
    return name


def _version(version: str) -> str:
    match = VERSION.fullmatch(version)
    if match is None:
        refuse("a GKE version", 'write it in quotes, such as "1.36" or "1.36.1-gke.1234000"')
    if (int(match[1]), int(match[2])) < OLDEST_VERSION:
        refuse(
            "1.36 or later, the first version that serves MutatingAdmissionPolicy v1, by which queued Ray "
            "objects are suspended",
            'raise it to "1.36"',
        )
    return version


class Gke(Model):
    """A GKE cluster that this stack makes; regional when `location` is a region."""

    kind: Literal["gke"]
    name: Annotated[str, AfterValidator(_cluster_name)]
    location: Annotated[str, AfterValidator(_location)]
    channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    version: Annotated[str, AfterValidator(_version)] = "1.36"
    network: str = "default"
    subnetwork: str = "default"
    deletion_protection: bool = True
    labels: dict[DnsLabel, str] = Field(default_factory=dict)

    @property
    def regional(self) -> bool:
        return self.location.count("-") == 1


class Existing(Model):
    """A cluster that already runs, reached by the ambient KUBECONFIG (and `context` in it, if given)."""

    kind: Literal["existing"]
    name: DnsLabel
    context: str | None = None


Cluster = Annotated[Gke | Existing, Field(discriminator="kind")]
