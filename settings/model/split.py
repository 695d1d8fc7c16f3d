"""A platform that several stacks deploy: which stack deploys which part."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import model_validator
from typing_extensions import Doc

from settings.model.base import Model, matching, refuse
from settings.model.google_cloud import ACCOUNT_EMAIL

Part = Literal["foundation", "cluster", "tenants"]
PARTS: tuple[Part, ...] = get_args(Part)
"""The parts in the order in which they are deployed; each uses those before it."""

SECTIONS_OF: Mapping[Part, tuple[str, ...]] = {
    "foundation": ("network", "cluster", "machine_types", "pools"),
    "cluster": (
        "kuberay",
        "kueue",
        "kai",
        "jobset",
        "lws",
        "gpu_operator",
        "gpudirect",
        "admission",
        "controller",
        "observability",
    ),
    "tenants": ("forecast", "queues", "tenants"),
}
"""The sections that are in the file of the stack with the part, by their names in Settings."""

READ_BY: Mapping[Part, tuple[str, ...]] = {
    # GKE installs KubeRay if it is the add-on.
    "foundation": ("project", *SECTIONS_OF["foundation"], "kuberay"),
    "cluster": ("project", *SECTIONS_OF["foundation"], *SECTIONS_OF["cluster"]),
}
"""The sections on which the resources of a part depend, which other parts use."""

STACK_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
StackName = Annotated[
    str,
    matching(
        STACK_NAME,
        "the name of a stack: 1 to 100 of a-z, A-Z, 0-9, '_', '.' and '-' (Pulumi)",
        "write it without organization and project, as in `Pulumi.<stack>.yaml`",
    ),
    Doc("stack"),
]
AccountEmail = Annotated[
    str,
    matching(
        ACCOUNT_EMAIL,
        "the e-mail address of a service account",
        "write NAME@PROJECT.iam.gserviceaccount.com; `gcloud iam service-accounts list` prints it",
    ),
    Doc("service account"),
]


SPLIT = "muster:split"
"""The key of Split in a stack file. It is not in Settings: these describe the platform, not its stacks."""


class Split(Model):
    """The stacks that deploy the platform together; the same in each of their files."""

    foundation: StackName
    """The stack of network, cluster and node pools, with `muster:cluster` and `muster:pools`."""
    cluster: StackName
    """The stack of the operators, the priorities, the controller, metrics and alerts, and of the admission
    policies that do not name tenants. It may be that of the foundation."""
    tenants: StackName
    """The stack of queues and tenants, and of admission policies and log sinks, which name tenants. It may be
    that of the cluster."""
    tenants_deployer: AccountEmail | None = None
    """The account that deploys the tenants, if it has no `roles/container.admin`: the stack of the cluster
    grants it the rights in Kubernetes that this needs."""

    @model_validator(mode="after")
    def _parts_of_a_stack_are_deployed_together(self) -> Self:
        if self.foundation == self.tenants != self.cluster:
            refuse(
                "a stack whose parts follow each other: the tenants need the cluster's part, and that needs "
                "the foundation's",
                "name the cluster's stack in `tenants`, or name a separate stack",
            )
        return self

    def stack_of(self, part: Part) -> str:
        """Returns the stack that deploys the part."""
        stacks: dict[Part, str] = {
            "foundation": self.foundation,
            "cluster": self.cluster,
            "tenants": self.tenants,
        }
        return stacks[part]

    def parts_of(self, stack: str) -> frozenset[Part]:
        """Returns the parts that the stack deploys."""
        return frozenset(part for part in PARTS if self.stack_of(part) == stack)

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks in the order in which they are deployed."""
        return tuple(dict.fromkeys(self.stack_of(part) for part in PARTS))
