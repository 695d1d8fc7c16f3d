"""Types of a pool's values, checked against the formats of GKE and Kubernetes."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ValidationInfo
from typing_extensions import Doc

from settings.facts.tables import table
from settings.model.base import matching, refuse
from settings.model.google_cloud import PROJECT, RESOURCE
from settings.model.pools.machine_facts import described_machines
from settings.model.pools.machines import MACHINES
from settings.problems import did_you_mean

POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,34}[a-z0-9])?")
RESERVATION = re.compile(rf"(projects/{PROJECT}/reservations/)?{RESOURCE}(/reservationBlocks/[-a-z0-9]+)?")
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
SERVICE_ACCOUNT = re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com")


def _machine_type(name: str, info: ValidationInfo) -> str:
    described = described_machines(info)
    if name not in MACHINES and name not in described:
        refuse(
            f"a machine type known on {table('machines').date} (settings/facts), or one that "
            "muster:machineTypes describes",
            did_you_mean(name, [*described, *MACHINES], shown=3),
        )
    return name


Provisioning = Literal["on-demand", "spot", "reserved", "flex-start", "queued"]

PoolName = Annotated[
    str,
    matching(
        POOL_NAME,
        "1 to 36 of a-z, 0-9 and '-', from a letter on, no '-' at the end (GKE API: NodePool.name)",
        "rename it",
    ),
    Doc("pool name"),
]
MachineType = Annotated[str, AfterValidator(_machine_type), Doc("machine type")]
Reservation = Annotated[
    str,
    matching(
        RESERVATION,
        "a reservation's name, optionally with its project or a reservation block",
        "write <name>, projects/<project>/reservations/<name> or <name>/reservationBlocks/<block>",
    ),
    Doc("reservation"),
]
LabelKey = Annotated[
    str,
    matching(LABEL_KEY, "a label key, with an optional DNS prefix and '/' (Kubernetes)", "rename it"),
    Doc("label key"),
]
LabelValue = Annotated[
    str,
    matching(
        LABEL_VALUE,
        "a label value: up to 63 of letters, digits, '-', '_' and '.' (Kubernetes)",
        "choose another value",
    ),
    Doc("label value"),
]
ServiceAccount = Annotated[
    str,
    matching(
        SERVICE_ACCOUNT,
        "the e-mail address of a Google service account",
        "write <name>@<project>.iam.gserviceaccount.com",
    ),
    Doc("e-mail address of a service account"),
]
