"""Problems of the installation: kinds, permissions, admission policies, the Lease, the controller's
watches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.cluster.jobs.kinds import BY_KIND
from muster.cluster.watched_kinds import OPTIONAL
from muster.kube.kinds import (
    CLUSTER_QUEUES,
    EVENTS,
    FLAVORS,
    NODES,
    PODS,
    PROVISIONING_REQUESTS,
    WORKLOADS,
    Kind,
)
from muster.live.doctor.finding import ClusterProblem
from muster.objects.coordination import Lease
from muster.objects.meta import Object, View, millis

LEASE_S = 15  # without a duration in the Lease
POLICY_PREFIX = "muster-"
DEPLOY = "deploy the stack again (`pulumi up`)"


POLICIES: Kind[Object] = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    Object,
    namespaced=False,
)


class BindingSpec(View):
    """The policy of a ValidatingAdmissionPolicyBinding."""

    policy_name: str = ""


class Binding(Object):
    """`admissionregistration.k8s.io/v1` ValidatingAdmissionPolicyBinding."""

    spec: BindingSpec = BindingSpec()


BINDINGS: Kind[Binding] = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    Binding,
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a kind or on one of its subresources."""

    verb: str
    kind: Kind[Any]
    subresource: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.kind.resource}" + (f"/{self.subresource}" if self.subresource else "")


RIGHTS = (
    *(Right("patch", kind) for kind in BY_KIND),
    *(Right(verb, WORKLOADS) for verb in ("watch", "create", "patch", "delete")),
    *(Right(verb, WORKLOADS, "status") for verb in ("patch", "update")),
    Right("update", CLUSTER_QUEUES, "status"),
    Right("patch", FLAVORS),
    Right("create", PROVISIONING_REQUESTS),
    *(Right(verb, PODS) for verb in ("delete", "patch")),
    Right("watch", NODES),
    Right("create", EVENTS),
)
"""Permissions that the controller needs to admit, grow and stop jobs and to report why they wait."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The facts about an installation that findings are derived from."""

    now_ms: int
    unread: Mapping[str, str] = field(default_factory=dict)  # kinds that cannot be listed, with the reason
    denied: tuple[Right, ...] | None = None  # permissions that the controller lacks; None: unknown
    account: str = ""  # the controller's user name
    policies: tuple[Object, ...] = ()  # ValidatingAdmissionPolicies
    bindings: tuple[str, ...] = ()  # names of the policies that are bound
    lease: Lease | None = None
    lease_key: str = ""
    unready: Mapping[str, str] = field(default_factory=dict)  # messages of pods that are not ready, by pod


def findings(facts: Installation) -> Iterator[ClusterProblem]:
    """Yields the problems of an installation."""
    yield from _kinds(facts)
    yield from _rights(facts)
    yield from _policies(facts)
    yield from _lease(facts)
    for pod, message in facts.unready.items():
        remedy = "check its log; it restarts if its watches stay stale for 5 minutes"
        yield ClusterProblem("watches", f"Pod {pod}", f"is not ready: {message}", remedy)


def _kinds(facts: Installation) -> Iterator[ClusterProblem]:
    for kind, why in facts.unread.items():
        if why.startswith("you may not"):
            remedy = "request permission to list it; checks that need it were skipped"
            yield ClusterProblem("rights", kind, why, remedy)
        elif kind not in map(str, OPTIONAL):
            yield ClusterProblem("kinds", kind, why, f"install its CRD: {DEPLOY}")


def _rights(facts: Installation) -> Iterator[ClusterProblem]:
    for right in facts.denied or ():
        yield ClusterProblem(
            "rights", facts.account, f"may not {right}", f"{DEPLOY}, which declares its ClusterRole"
        )


def _policies(facts: Installation) -> Iterator[ClusterProblem]:
    if str(POLICIES) in facts.unread or str(BINDINGS) in facts.unread:
        return
    names = [
        policy.metadata.name for policy in facts.policies if policy.metadata.name.startswith(POLICY_PREFIX)
    ]
    if not names:
        fault = "none exist: jobs can start without quota, and pods can claim the quota of other jobs"
        yield ClusterProblem("policies", f"{POLICIES} {POLICY_PREFIX}…", fault, DEPLOY)
    for name in sorted(set(names) - set(facts.bindings)):
        yield ClusterProblem(
            "policies", f"{POLICIES} {name}", "has no binding, so it is not enforced", DEPLOY
        )


def _lease(facts: Installation) -> Iterator[ClusterProblem]:
    if "Lease" in facts.unread:
        return
    subject, spec = f"Lease {facts.lease_key}", facts.lease.spec if facts.lease is not None else None
    if spec is None or not spec.holder_identity:
        remedy = "check that the controller's pods run, or name another Lease with --lease"
        yield ClusterProblem("lease", subject, "has no holder, so nothing is admitted", remedy)
        return
    age_s = (facts.now_ms - millis(spec.renew_time)) / 1000
    if age_s > 2 * (spec.lease_duration_seconds or LEASE_S):
        fault = f"was last renewed {age_s:.0f} s ago by {spec.holder_identity}"
        yield ClusterProblem("lease", subject, fault, "check the log of the controller that held it")
