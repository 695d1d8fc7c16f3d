"""`muster doctor`: finds problems that keep a cluster from admitting jobs, with a remedy for each."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from muster.cli.acting import ClusterContext, run, target_options
from muster.cli.terminal import visible
from muster.cli.verb import verb
from muster.cluster.cluster_state import ClusterState
from muster.cluster.watched_kinds import ONLY_LABELLED, WATCHED
from muster.kube.client import FORBIDDEN, NOT_FOUND, Kube, WriteError
from muster.kube.errors import StatusError
from muster.kube.kinds import LEASES, PODS, Kind
from muster.kube.writes import Create
from muster.live.doctor import installation, objects
from muster.live.doctor.finding import ClusterProblem
from muster.live.doctor.installation import BINDINGS, POLICIES, RIGHTS, Installation, Right
from muster.objects.meta import Object, View

FOUND = 1
"""The exit code if there are findings."""
CONTROLLER_LABELS = {"app.kubernetes.io/name": "muster-controller"}


class SubjectAccessReviewStatus(View):
    """The decision of the API server's authorizers."""

    allowed: bool = False


class SubjectAccessReview(Object):
    """`authorization.k8s.io/v1`: asks the API server for the permissions of an account."""

    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


REVIEWS: Kind[SubjectAccessReview] = Kind(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    "subjectaccessreviews",
    SubjectAccessReview,
    namespaced=False,
)


@verb(
    "Finds problems that keep jobs from being admitted: kinds that are not served, permissions that the "
    "controller or you lack, missing admission policies, a Lease that is not renewed, replicas with stale "
    "watches, queues that cannot admit anything, outdated statuses, and objects without their owner. It "
    "only reads, except for SubjectAccessReviews, which the API server does not store. Exit codes: 0 no "
    f"findings; {FOUND} findings; 2 the cluster cannot be queried."
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="muster-system/muster-controller",
    help="Lease of the controller, in the namespace of its pods and their ServiceAccount muster-controller",
)
@click.option("--json", "as_json", is_flag=True, help="print the findings as JSON")
@target_options
def command(lease: str, as_json: bool, target: ClusterContext) -> int:
    """Prints the findings; returns 1 if there are any."""
    if "/" not in lease:
        raise click.UsageError(f"--lease: {lease!r}; expected NAMESPACE/NAME")
    findings = run(target, lambda kube: _examined(kube, lease))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            text = f"{finding.check}: {finding.subject} {finding.fault}\n  fix: {finding.remedy}"
            print(visible(text))
        print(f"{len(findings)} finding{'s' * (len(findings) > 1)}" if findings else "no findings")
    return FOUND if findings else 0


async def _examined(kube: Kube, lease: str) -> list[ClusterProblem]:
    """Lists the objects of the cluster; returns the findings about them."""
    now_ms = time.time_ns() // 1_000_000
    namespace = lease.partition("/")[0]
    account = f"system:serviceaccount:{namespace}:muster-controller"
    unread: dict[str, str] = {}
    lists = await asyncio.gather(*(_list(kube, kind, unread) for kind in WATCHED))
    views = {kind: {obj.key: obj for obj in listed} for kind, listed in zip(WATCHED, lists, strict=True)}
    policies = await _list(kube, POLICIES, unread)
    bindings = await _list(kube, BINDINGS, unread)
    facts = Installation(
        now_ms=now_ms,
        unread=unread,
        denied=await _denied(kube, account),
        account=account,
        policies=tuple(policies),
        bindings=tuple(binding.spec.policy_name for binding in bindings),
        lease=await kube.read(LEASES, lease),
        lease_key=lease,
        unready=await _unready(kube, namespace),
    )
    return [*installation.findings(facts), *objects.findings(ClusterState(views), now_ms)]


async def _list(kube: Kube, kind: Kind[Any], unread: dict[str, str]) -> Sequence[Any]:
    """Returns the objects of a kind; none if they cannot be listed, with the reason in `unread`."""
    try:
        return (await kube.list(kind, ONLY_LABELLED.get(kind)))[1]
    except StatusError as error:
        if error.code not in (FORBIDDEN, NOT_FOUND):
            raise
        may_not = f"you may not list {kind.resource}"
        unread[str(kind)] = may_not if error.code == FORBIDDEN else "the API server does not serve this kind"
        return ()


async def _denied(kube: Kube, account: str) -> tuple[Right, ...] | None:
    """Returns the permissions that the controller lacks; None if the user may not create
    SubjectAccessReviews."""
    try:
        answers = await asyncio.gather(*(kube.perform(_review(account, right)) for right in RIGHTS))
    except WriteError as error:
        if error.code in (FORBIDDEN, NOT_FOUND):
            return None
        raise
    pairs = zip(RIGHTS, answers, strict=True)
    return tuple(
        right
        for right, answer in pairs
        if isinstance(answer, SubjectAccessReview) and not answer.status.allowed
    )


def _review(account: str, right: Right) -> Create:
    attributes = {"group": right.kind.group, "resource": right.kind.plural, "verb": right.verb}
    if right.subresource:
        attributes["subresource"] = right.subresource
    return Create(REVIEWS, {"metadata": {}, "spec": {"user": account, "resourceAttributes": attributes}})


async def _unready(kube: Kube, namespace: str) -> dict[str, str]:
    """Returns the messages of /readyz, which name the stale watches, of the controller's pods that are not
    ready. Empty if the controller does not run in pods, as in a sandbox."""
    messages: dict[str, str] = {}
    try:
        _, pods = await kube.list(PODS, CONTROLLER_LABELS, namespace)
    except StatusError:
        return messages
    for pod in pods:
        try:
            await kube.text(f"{PODS.path(namespace, f'{pod.metadata.name}:8080', 'proxy')}/readyz")
        except StatusError as error:
            if error.code not in (FORBIDDEN, NOT_FOUND):
                messages[pod.key] = error.status.message
    return messages
