"""Admission of new Ray objects by stack local's policies: suspension and refusals."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, User
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    QUEUE,
    child,
    create,
    message_of,
    raycluster,
    rayjob,
    rayservice,
    suspended,
    unqueued,
)
from tools.toolchain.steps import StepError


class Creation(NamedTuple):
    name: str
    user: User
    make: Callable[[], Manifest]
    suspended: bool

    def __str__(self) -> str:
        return self.name


CREATIONS = [
    Creation("a team's RayJob is suspended", ALICE, rayjob, True),
    Creation("a team's RayCluster is suspended", ALICE, raycluster, True),
    Creation("a team's RayService is suspended", ALICE, rayservice, True),
    Creation("an administrator's RayJob too", ADMIN, rayjob, True),
    Creation("the RayCluster that KubeRay makes for a RayJob starts", ADMIN, child, False),
    Creation("an unqueued RayCluster does not change", ALICE, unqueued, False),
]


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_queued_objects_are_suspended_at_creation(server: Kubectl, case: Creation) -> None:
    assert suspended(create(server, case.user, case.make())) is case.suspended


class Change(NamedTuple):
    """A manifest with one changed field, and the whole message that refuses it; empty if it is accepted."""

    name: str
    make: Callable[[], Manifest]
    path: str
    value: object
    message: str = ""
    namespace: str = "team-a"

    def __str__(self) -> str:
        return self.name

    @property
    def manifest(self) -> Manifest:
        manifest = copy.deepcopy(self.make())
        *path, last = self.path.split(".")
        here = manifest
        for part in path:
            here = here.setdefault(part, {})
        here[last] = self.value
        manifest["metadata"]["namespace"] = self.namespace
        return manifest


def vpa() -> Manifest:
    target = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "notebook"}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "new"},
        "spec": {"targetRef": target, "updatePolicy": {"updateMode": "Off"}},
    }


STAY_INSIDE = (
    "Ray's ports have no authentication, so they stay inside the cluster: remove {}, and reach the "
    "dashboard with kubectl port-forward"
)
TOKEN = (
    "in this namespace Ray requires a token: add {}.authOptions: {{mode: token}}, with rayVersion 2.52.0 or "
    "later"
)
RECOMMEND_ONLY = (
    "a gang runs with the resources that its quota was reserved for: set spec.updatePolicy.updateMode: "
    '"Off", and put the recommendations into the next manifest'
)
REFUSALS = [
    Change(
        "a RayJob that stays after it finishes",
        rayjob,
        "spec.shutdownAfterJobFinishes",
        False,
        "a queued RayJob needs spec.shutdownAfterJobFinishes: true, or KubeRay can't suspend it while it "
        "waits for quota",
    ),
    Change(
        "a RayJob on an existing cluster",
        rayjob,
        "spec.clusterSelector",
        {"ray.io/cluster": "shared"},
        "a queued RayJob needs its own cluster: remove spec.clusterSelector, or the queue label",
    ),
    Change(
        "a RayJob with deletion rules",
        rayjob,
        "spec.deletionStrategy",
        {"deletionRules": [{"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}}]},
        "a queued RayJob can't have spec.deletionStrategy.deletionRules: its cluster is deleted when it ends",
    ),
    Change(
        "a head behind a load balancer",
        raycluster,
        "spec.headGroupSpec.serviceType",
        "LoadBalancer",
        STAY_INSIDE.format("spec.headGroupSpec.serviceType"),
    ),
    Change(
        "a head with an ingress",
        rayjob,
        "spec.rayClusterSpec.headGroupSpec.enableIngress",
        True,
        STAY_INSIDE.format("spec.rayClusterSpec.headGroupSpec.enableIngress"),
    ),
    Change(
        "Serve on the nodes' ports",
        rayservice,
        "spec.serveService",
        {"spec": {"type": "NodePort"}},
        STAY_INSIDE.format("spec.serveService.spec.type"),
    ),
    Change(
        "a head's Service behind a load balancer, unqueued",
        unqueued,
        "spec.headGroupSpec.headService",
        {"spec": {"type": "LoadBalancer"}},
        STAY_INSIDE.format("spec.headGroupSpec.headService.spec.type"),
    ),
    Change(
        "unqueued, where a queue is required",
        raycluster,
        "metadata.labels",
        {},
        f"in this namespace Ray objects need a queue: add the label {QUEUE} with the name of a queue "
        "(kubectl get localqueues)",
        "team-a-queued",
    ),
    Change(
        "no token in a RayJob",
        rayjob,
        "spec.rayClusterSpec.authOptions",
        {},
        TOKEN.format("spec.rayClusterSpec"),
        "team-a-tokens",
    ),
    Change(
        "no token in a RayCluster",
        raycluster,
        "spec.authOptions",
        {"mode": "disabled"},
        TOKEN.format("spec"),
        "team-a-tokens",
    ),
    Change(
        "no token in a RayService",
        rayservice,
        "spec.rayClusterConfig.authOptions",
        None,
        TOKEN.format("spec.rayClusterConfig"),
        "team-a-tokens",
    ),
    Change(
        "resizing of new pods beyond their admission",
        vpa,
        "spec.updatePolicy.updateMode",
        "Initial",
        RECOMMEND_ONLY,
    ),
    Change("resizing, which is the default", vpa, "spec.updatePolicy", {}, RECOMMEND_ONLY),
]


@pytest.mark.parametrize("case", REFUSALS, ids=str)
def test_refused_at_creation(server: Kubectl, case: Change) -> None:
    with pytest.raises(StepError) as refused:
        create(server, ADMIN, case.manifest)
    assert message_of(refused.value) == case.message


ACCEPTED = [
    Change(
        "a token where it is required",
        raycluster,
        "spec.authOptions",
        {"mode": "token"},
        namespace="team-a-tokens",
    ),
    Change("a Service inside the cluster", rayservice, "spec.serveService", {"spec": {"type": "ClusterIP"}}),
    Change("recommendations", vpa, "spec.updatePolicy.updateMode", "Off"),
    Change("resizing of other workloads", vpa, "spec", {"targetRef": {"apiVersion": "apps/v1"}}),
    Change(
        "resizing of Ray outside the tenants' namespaces", vpa, "spec.updatePolicy", {}, namespace="default"
    ),
]


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_accepted_at_creation(server: Kubectl, case: Change) -> None:
    assert create(server, ADMIN, case.manifest)
