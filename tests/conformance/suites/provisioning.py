"""ProvisioningRequests: a Workload with quota, its checks and requests, reconciled until nothing changes.

Muster's controller needs several passes for one reconcile of Kueue: each acts on what the previous one has
written. They run against an API server in memory, with the controller's own writer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import PlacementError
from muster.cluster.retries import FAILED_TO_START
from muster.configuration.feature_gates import CLEANUP
from muster.controller.gangs.job_writes import sync_provisioning_requests
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.pacing.pacing import WriteBackoff
from muster.controller.passes.status_writes import status_patch
from muster.controller.process.apply import Applier
from muster.controller.provisioning import check_requests, provisioning_checks, provisioning_requests
from muster.controller.workload.events import ObjectEvent, status_events
from muster.kube import kinds
from muster.kube.client import WriteError
from muster.kube.kinds import Kind
from muster.kube.store import Stores
from muster.kube.writes import Create, Write
from muster.objects import kueue, kueue_checks, workload_status
from tests.conformance.case import Case, Replay
from tests.conformance.objects import view
from tests.simulation import api as emulated
from tests.simulation.api import Api, Body, Refused
from tests.simulation.clock import VirtualLoop
from tests.simulation.kube import CALM, EmulatedKube

PASSES_MAX = 6
LOADED: Mapping[str, Kind[Any]] = {  # by the key of the case
    "admissionChecks": kinds.CHECKS,
    "provisioningRequestConfigs": kinds.PROVISIONING_CONFIGS,
    "provisioningRequests": kinds.PROVISIONING_REQUESTS,
    "podTemplates": kinds.POD_TEMPLATES,
    "resourceFlavors": kinds.FLAVORS,
}
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation")
TIMES = ("lastTransitionTime", "requeueAt")


class _RefusingKube(EmulatedKube):
    """`errors`: the API server's answer to each creation of a kind."""

    def __init__(self, api: Api, errors: Mapping[str, str]) -> None:
        super().__init__(api, Random(0), CALM)
        self._errors = errors

    def write(self, write: Write) -> Body | None:
        if isinstance(write, Create) and write.kind.name in self._errors:
            message = self._errors[write.kind.name]
            raise Refused(409 if message.endswith("already exists") else 422, message)
        return super().write(write)


class _Run:
    """Results of the case: objects in the API server, events, errors."""

    def __init__(self, case: Case) -> None:
        self._now_ms = case.now_ms
        self._cleans_up = case.gate(CLEANUP, True)
        self.api = Api(lambda: case.now_ms)
        self.events: list[ObjectEvent] = []
        self.errors: list[str] = []
        self._stores = Stores()
        kube = _RefusingKube(self.api, case.config.get("createErrors") or {})
        self._applier = Applier(kube, self._stores, WriteBackoff(), self.events.append, self._wrote)
        owner = self._load(kinds.WORKLOADS, _complete(case.input["workload"]))
        self._key = emulated.key_of(owner)
        for name, kind in LOADED.items():
            for body in case.input.get(name) or ():
                self._load(kind, _owned(body, owner))

    def _load(self, kind: Kind[Any], body: Body) -> Body:
        created = self.api.create(kind, body, "case")
        status = {"status": body.get("status") or {}}
        return self.api.merge_patch(kind, emulated.key_of(created), status, "case", True)

    def _wrote(self, write: Write, error: WriteError | None) -> None:
        if error is not None:
            self.errors.append(error.message)

    async def tend(self) -> None:
        for _ in range(PASSES_MAX):
            before = self.api.revision
            done = await self._applier.perform(list(self._writes(self._cluster_state())), self._now_ms)
            self.events += (event for planned in done for event in planned.events)
            if self.api.revision == before:
                return
        raise AssertionError(f"still changing after {PASSES_MAX} passes")

    def _cluster_state(self) -> ClusterState:
        followed = (kinds.WORKLOADS, *LOADED.values())
        for kind in followed:
            views = [emulated.view(kind, body) for body in self.api.all(kind)]
            self._stores.of(kind).replace(views, str(self.api.revision))
        return ClusterState({kind: self._stores.of(kind).items for kind in followed})

    def _writes(self, cluster: ClusterState) -> Iterator[PlannedWrite]:
        """Yields the provisioning writes of a pass: statuses first, then what follows from them."""
        workload = cluster.workloads[self._key]
        status = workload.status
        if workload_status.is_finished(status) or workload_status.is_evicted(status):
            if self._cleans_up or workload_status.is_finished(status):
                unused = provisioning_requests.unused(workload, cluster)
                yield from (PlannedWrite(self._key, write) for write in unused)
            return
        if not workload_status.holds_quota(status):
            return
        new = provisioning_checks.sync_checks(workload, status, cluster, self._now_ms)
        if new != status:
            events = tuple(status_events(workload, new, self._now_ms))
            yield PlannedWrite(workload.key, status_patch(workload, new), events)
            return
        for planned in sync_provisioning_requests(workload, cluster, self._now_ms):
            gives_up = [event.message for event in planned.events if event.reason == FAILED_TO_START]
            if gives_up:  # Kueue would retry forever
                self.errors += gives_up
            else:
                yield planned


def _complete(workload: Body) -> Body:
    """Adds the times that an API server requires."""
    status = workload.get("status") or {}
    checks = [
        {"lastTransitionTime": "2026-01-01T12:00:00Z", **c} for c in status.get("admissionChecks") or ()
    ]
    return {**workload, "status": {**status, "admissionChecks": checks}}


def _owned(body: Body, owner: Body) -> Body:
    """Sets the owner's UID, which cases leave empty, and drops nulls."""
    new: Body = _pruned(body, ())
    references = new.get("metadata", {}).get("ownerReferences") or []
    if [r["name"] for r in references] == [owner["metadata"]["name"]]:
        kind = {"apiVersion": kinds.WORKLOADS.api_version, "kind": kinds.WORKLOADS.name}
        uid = {"uid": owner["metadata"]["uid"], "controller": True}
        new["metadata"]["ownerReferences"] = [{**references[0], **kind, **uid}]
    return new


def reconcile(case: Case) -> None:
    run, loop = _Run(case), VirtualLoop()
    try:
        loop.run_until_complete(run.tend())
    finally:
        loop.close()
    _expect_error(case.expect.get("reconcileError"), run.errors)
    for name, expected in (case.expect.get("workloads") or {}).items():
        _same(
            f"Workload {name}",
            find_by_name(run, kinds.WORKLOADS, name),
            expected,
            without=(*TIMES, "metadata"),
        )
    for name, expected in (case.expect.get("provisioningRequests") or {}).items():
        request = find_by_name(run, kinds.PROVISIONING_REQUESTS, name)
        _same(f"labels of {name}", _labels(request), _labels(expected))
        _same(f"ProvisioningRequest {name}", request, expected, without=(*TIMES, "metadata"))
    for name, expected in (case.expect.get("podTemplates") or {}).items():
        template = find_by_name(run, kinds.POD_TEMPLATES, name)
        _same(f"PodTemplate {name}", template, expected, without=(*OF_THE_SERVER, "restartPolicy"))
    there = {r["metadata"]["name"] for r in run.api.all(kinds.PROVISIONING_REQUESTS)}
    assert not there & set(case.expect.get("provisioningRequestsNotFound") or ()), f"requests left: {there}"
    reported = Counter(_event(event) for event in run.events)
    wanted_events = Counter(
        (e["object"], e["type"], e["reason"], e["message"]) for e in case.expect.get("events") or ()
    )
    assert reported == wanted_events, f"events {dict(reported)}, expected {dict(wanted_events)}"


def _expect_error(expected: str | None, errors: list[str]) -> None:
    matches = any(expected in error for error in errors) if expected else not errors
    assert matches, f"errors {errors}, expected {expected}"


def find_by_name(run: _Run, kind: Kind[Any], name: str) -> Body:
    """Returns the object, empty if it is absent; all objects of a case are in one namespace."""
    bodies = (body for body in run.api.all(kind) if body["metadata"]["name"] == name)
    return next(bodies, {})


def _labels(body: Body) -> Body:
    labels: Body = (body.get("metadata") or {}).get("labels") or {}
    return labels


def _same(what: str, actual: Any, expected: Any, without: tuple[str, ...] = ()) -> None:
    actual, expected = _pruned(actual, without), _pruned(expected, without)
    assert actual == expected, f"{what}: {actual}\nexpected {expected}"


def _pruned(value: Any, without: tuple[str, ...]) -> Any:
    """Drops these fields and empty values; conditions are by type."""
    if isinstance(value, Mapping):
        retained = {key: _pruned(of, without) for key, of in value.items() if key not in without}
        return {key: of for key, of in retained.items() if of not in (None, {}, [], "")}
    if not isinstance(value, list | tuple):
        return value
    items = [_pruned(item, without) for item in value]
    typed = all(isinstance(item, dict) and "type" in item for item in items)
    return sorted(items, key=lambda item: item["type"]) if typed else items


def _event(event: ObjectEvent) -> tuple[str, str, str, str]:
    return event.regarding.key, "Warning" if event.warning else "Normal", event.reason, event.message


def is_needed(case: Case) -> None:
    workload = view(_complete(case.input["workload"]), kueue.Workload)
    config = view(case.input["provisioningRequestConfig"], kueue_checks.ProvisioningRequestConfig)
    needed, errors = False, []
    try:
        needed = check_requests.is_needed(workload, config)
    except PlacementError as error:
        errors.append(str(error))
    _expect_error(case.expect.get("error"), errors)
    assert needed == case.expect["needed"], f"needed: {needed}"


SUITES: Mapping[str, Replay] = {"TestReconcile": reconcile, "TestReqIsNeeded": is_needed}
