"""Faults of the installation: kinds, rights, admission policies, the Lease, the controller's watches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.kube.kinds import (
    CLUSTER_QUEUES,
    EVENTS,
    FLAVORS,
    NODES,
    PODS,
    PROVISIONING_REQUESTS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    WORKLOADS,
    Kind,
)
from muster.live.doctor.finding import Finding
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
    policy_name: str = ""


class Binding(Object):
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
    """One verb on a kind, or on a subresource of it."""

    verb: str
    kind: Kind[Any]
    subresource: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.kind.resource}" + (f"/{self.subresource}" if self.subresource else "")


RIGHTS = (
    *(Right("patch", kind) for kind in (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES)),
    *(Right(verb, WORKLOADS) for verb in ("watch", "create", "patch", "delete")),
    *(Right(verb, WORKLOADS, "status") for verb in ("patch", "update")),
    Right("update", CLUSTER_QUEUES, "status"),
    Right("patch", FLAVORS),
    Right("create", PROVISIONING_REQUESTS),
    Right("delete", PODS),
    Right("watch", NODES),
    Right("create", EVENTS),
)
"""Rights without which the controller does not admit, stop, or say why."""


@dataclass(frozen=True, slots=True)
class Installation:
    """`unread` says of kinds that could not be listed why. `denied` are rights that the controller lacks,
    None if that is not known. `policies` and `bindings` are ValidatingAdmissionPolicies and the names of the
    policies that are bound. `unready` is what pods of the controller say that are not ready, by name."""

    now_ms: int
    unread: Mapping[str, str] = field(default_factory=dict)
    denied: tuple[Right, ...] | None = None
    account: str = ""
    policies: tuple[Object, ...] = ()
    bindings: tuple[str, ...] = ()
    lease: Lease | None = None
    lease_key: str = ""
    unready: Mapping[str, str] = field(default_factory=dict)


def findings(of: Installation) -> Iterator[Finding]:
    yield from _kinds(of)
    yield from _rights(of)
    yield from _policies(of)
    yield from _lease(of)
    for pod, said in of.unready.items():
        remedy = "look at its log; it is restarted if it stays without events for 5 minutes"
        yield Finding("watches", f"Pod {pod}", f"is not ready: {said}", remedy)


def _kinds(of: Installation) -> Iterator[Finding]:
    for kind, why in of.unread.items():
        if why.startswith("you may not"):
            remedy = "ask for the right to list it; what it would show is not examined"
            yield Finding("rights", kind, why, remedy)
        elif kind != str(PROVISIONING_REQUESTS):  # optional: the autoscaler installs it
            yield Finding("kinds", kind, why, f"install its CRD: {DEPLOY}")


def _rights(of: Installation) -> Iterator[Finding]:
    for right in of.denied or ():
        yield Finding("rights", of.account, f"may not {right}", f"{DEPLOY}, which declares its ClusterRole")


def _policies(of: Installation) -> Iterator[Finding]:
    if str(POLICIES) in of.unread or str(BINDINGS) in of.unread:
        return
    own = [policy.metadata.name for policy in of.policies if policy.metadata.name.startswith(POLICY_PREFIX)]
    if not own:
        fault = "there is none: jobs may start without quota, and pods may claim that of others"
        yield Finding("policies", f"{POLICIES} {POLICY_PREFIX}…", fault, DEPLOY)
    for name in sorted(set(own) - set(of.bindings)):
        yield Finding("policies", f"{POLICIES} {name}", "is bound nowhere, so it refuses nothing", DEPLOY)


def _lease(of: Installation) -> Iterator[Finding]:
    if "Lease" in of.unread:
        return
    subject, spec = f"Lease {of.lease_key}", of.lease.spec if of.lease is not None else None
    if spec is None or not spec.holder_identity:
        remedy = "see whether the controller's pods run; --lease names another Lease"
        yield Finding("lease", subject, "is held by no controller, so nothing is decided", remedy)
        return
    age_s = (of.now_ms - millis(spec.renew_time)) / 1000
    if age_s > 2 * (spec.lease_duration_seconds or LEASE_S):
        fault = f"was last renewed {age_s:.0f} s ago by {spec.holder_identity}"
        yield Finding("lease", subject, fault, "see the log of the controller that held it")
