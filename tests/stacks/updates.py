"""Cases of updates of objects, each an operation that is allowed or refused."""

from typing import Any, NamedTuple

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Target, User
from tests.stacks.ray_requests import refused_patch

Operation = dict[str, Any]


JOB, CLUSTER, SERVICE, CHILD, FREE = (
    "rayjob/job",
    "raycluster/notebook",
    "rayservice/service",
    "raycluster/child",
    "raycluster/free",
)


GROUPS = {
    JOB: "/spec/rayClusterSpec/workerGroupSpecs",
    CLUSTER: "/spec/workerGroupSpecs",
    CHILD: "/spec/workerGroupSpecs",
    SERVICE: "/spec/rayClusterConfig/workerGroupSpecs",
}


def put(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


class Case(NamedTuple):
    """A patch of an object, and the whole message that refuses it; empty if it is accepted."""

    name: str
    user: User
    target: str
    patch: Operation
    message: str = ""

    def __str__(self) -> str:
        return self.name


class Edit(NamedTuple):
    """A patch by a member of the team, and a part of the message that refuses it; empty if it is accepted."""

    name: str
    target: str
    patch: Operation
    message: str = ""

    def __str__(self) -> str:
        return self.name


def change(server: Kubectl, case: Case, patch: list[Operation]) -> str:
    """Patches as a dry run; returns the message of the refusal, or an empty string."""
    kind, _, name = case.target.partition("/")
    return refused_patch(server, case.user, Target("ray.io/v1", kind, name, "team-a"), patch)
