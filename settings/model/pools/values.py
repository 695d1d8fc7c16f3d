"""Types of a pool's values, checked against the formats of GKE and Kubernetes."""

import re
from typing import Annotated

from pydantic import AfterValidator
from typing_extensions import Doc

from settings.model.base import refuse
from settings.model.google_cloud import PROJECT
from settings.model.pools.machines import MACHINES
from settings.problems import did_you_mean

POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,34}[a-z0-9])?")
RESERVATION = re.compile(
    rf"(projects/{PROJECT}/reservations/)?[a-z]([-a-z0-9]{{0,61}}[a-z0-9])?(/reservationBlocks/[-a-z0-9]+)?"
)
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SERVICE_ACCOUNT = re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com")


def _pool_name(name: str) -> str:
    if not POOL_NAME.fullmatch(name):
        refuse(
            "1 to 36 of a-z, 0-9 and '-', from a letter on, no '-' at the end (GKE API: NodePool.name)",
            "rename it",
        )
    return name


def _machine_type(name: str) -> str:
    if name not in MACHINES:
        refuse(
            "a machine type listed in settings/model/pools/machines.py, where new ones can be added",
            did_you_mean(name, MACHINES),
        )
    return name


def _reservation(name: str) -> str:
    if not RESERVATION.fullmatch(name):
        refuse(
            "a reservation's name, optionally with its project or a reservation block",
            "write <name>, projects/<project>/reservations/<name> or <name>/reservationBlocks/<block>",
        )
    return name


def _label_key(key: str) -> str:
    if not LABEL_KEY.fullmatch(key):
        refuse("a label key, with an optional DNS prefix and '/' (Kubernetes)", "rename it")
    return key


def _label_value(value: str) -> str:
    if not LABEL_VALUE.fullmatch(value):
        refuse(
            "a label value: up to 63 of letters, digits, '-', '_' and '.' (Kubernetes)",
            "choose another value",
        )
    return value


def _service_account(email: str) -> str:
    if not SERVICE_ACCOUNT.fullmatch(email):
        refuse(
            "the e-mail address of a Google service account", "write <name>@<project>.iam.gserviceaccount.com"
        )
    return email


PoolName = Annotated[str, AfterValidator(_pool_name), Doc("pool name")]
MachineType = Annotated[str, AfterValidator(_machine_type), Doc("machine type")]
Reservation = Annotated[str, AfterValidator(_reservation), Doc("reservation")]
LabelKey = Annotated[str, AfterValidator(_label_key), Doc("label key")]
LabelValue = Annotated[str, AfterValidator(_label_value), Doc("label value")]
ServiceAccount = Annotated[str, AfterValidator(_service_account), Doc("e-mail address of a service account")]
