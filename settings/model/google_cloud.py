"""Names in Google Cloud: projects, labels, networks and their subnets."""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse

_ID = r"[a-z][-a-z0-9]{4,28}[a-z0-9]"
# A project's ID, in some organizations with a domain before it, such as example.com:ray-prod.
PROJECT = rf"(?:[a-z0-9][-a-z0-9.]*:)?{_ID}"
PROJECT_ID = re.compile(PROJECT)
# Resource Manager, "Requirements for labels".
LABEL_KEY = re.compile(r"[a-z][-_a-z0-9]{0,62}")
LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
_RESOURCE = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
NETWORK = re.compile(rf"(?:projects/{PROJECT}/global/networks/)?{_RESOURCE}")
SUBNETWORK = re.compile(rf"(?:projects/{PROJECT}/regions/(?P<region>[^/]+)/subnetworks/)?{_RESOURCE}")


def _project_id(project: str) -> str:
    if not PROJECT_ID.fullmatch(project):
        refuse(
            "a project ID: 6 to 30 of a-z, 0-9 and '-', from a letter on, no '-' at the end (Resource "
            "Manager)",
            "write the ID, not the project's name or number; `gcloud projects list` prints it",
        )
    return project


def _label_key(key: str) -> str:
    if not LABEL_KEY.fullmatch(key):
        refuse(
            "a label key of Google Cloud: 1 to 63 of a-z, 0-9, '_' and '-', from a letter on (Resource "
            "Manager)",
            "rename it",
        )
    return key


def _label_value(value: str) -> str:
    if not LABEL_VALUE.fullmatch(value):
        refuse(
            "a label value of Google Cloud: up to 63 of a-z, 0-9, '_' and '-' (Resource Manager)",
            "write it in lower case, with '-' or '_' for other characters",
        )
    return value


def _network(network: str) -> str:
    if not NETWORK.fullmatch(network):
        refuse(
            "the name of a network, or its path (GKE API: Cluster.network)",
            "write NAME, or projects/PROJECT/global/networks/NAME for a network of another project",
        )
    return network


def _subnetwork(subnetwork: str) -> str:
    if not SUBNETWORK.fullmatch(subnetwork):
        refuse(
            "the name of a subnet, or its path (GKE API: Cluster.subnetwork)",
            "write NAME, or projects/PROJECT/regions/REGION/subnetworks/NAME for one of another project",
        )
    return subnetwork


ProjectId = Annotated[str, AfterValidator(_project_id), Doc("project ID")]
GoogleLabelKey = Annotated[str, AfterValidator(_label_key), Doc("label key of Google Cloud")]
GoogleLabelValue = Annotated[str, AfterValidator(_label_value), Doc("label value of Google Cloud")]
ExistingNetwork = Annotated[str, AfterValidator(_network), Doc("network")]
ExistingSubnetwork = Annotated[str, AfterValidator(_subnetwork), Doc("subnet")]
