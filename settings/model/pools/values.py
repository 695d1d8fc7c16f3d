"""Values of a pool that have a form of their own: names that GKE and Kubernetes would refuse otherwise."""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse
from settings.model.pools.machines import MACHINES
from settings.problems import did_you_mean

POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,34}[a-z0-9])?")
RESERVATION = re.compile(
    r"(projects/[^/]+/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?(/reservationBlocks/[^/]+)?"
)
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SERVICE_ACCOUNT = re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com")
ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")


def _pool_name(name: str) -> str:
    if not POOL_NAME.fullmatch(name):
        refuse(
            "1 to 36 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: NodePool.name)",
            "choose such a name",
        )
    return name


def _machine_type(name: str) -> str:
    if name not in MACHINES:
        refuse(
            "a machine type of the table in settings/model/pools/machines.py, where new ones can be added",
            did_you_mean(name, MACHINES),
        )
    return name


def _reservation(name: str) -> str:
    if not RESERVATION.fullmatch(name):
        refuse(
            "a reservation's name, with its project if it is another's and with a block of it if wanted",
            "write <name>, projects/<project>/reservations/<name> or <name>/reservationBlocks/<block>",
        )
    return name


def _label_key(key: str) -> str:
    if not LABEL_KEY.fullmatch(key):
        refuse("a label's key, with an optional DNS prefix and '/' (Kubernetes)", "choose such a key")
    return key


def _zone(zone: str) -> str:
    if not ZONE.fullmatch(zone):
        refuse("a zone such as us-west1-b", "name zones of the cluster's region")
    return zone


def _label_value(value: str) -> str:
    if not LABEL_VALUE.fullmatch(value):
        refuse(
            "a label's value: up to 63 of letters, digits, '-', '_' and '.' (Kubernetes)", "choose another"
        )
    return value


def _service_account(email: str) -> str:
    if not SERVICE_ACCOUNT.fullmatch(email):
        refuse("a Google service account's address", "write <name>@<project>.iam.gserviceaccount.com")
    return email


PoolName = Annotated[str, AfterValidator(_pool_name), Doc("pool name")]
MachineType = Annotated[str, AfterValidator(_machine_type), Doc("machine type")]
Reservation = Annotated[str, AfterValidator(_reservation), Doc("reservation")]
LabelKey = Annotated[str, AfterValidator(_label_key), Doc("label key")]
LabelValue = Annotated[str, AfterValidator(_label_value), Doc("label value")]
ServiceAccount = Annotated[str, AfterValidator(_service_account), Doc("service account's address")]
Zone = Annotated[str, AfterValidator(_zone), Doc("zone")]
