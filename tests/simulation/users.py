"""Users who submit, change their minds, and do what they should not; all of it by chance."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from muster.kube import kinds
from muster.objects import kueue
from tests.simulation.api import Body, Refused, key_of
from tests.simulation.kuberay import state_of
from tests.simulation.manifests import ray_cluster, ray_job, ray_service, template
from tests.simulation.simulation import Simulation

PAUSE_S_MAX = 20.0
TOO_MANY = 40
UNREASONABLE = (
    {"queue": "nowhere"},
    {"worker": template("worker")},
    {"workers": TOO_MANY},
    {"priority": "urgent"},
    {"shutdownAfterJobFinishes": False},
)


class Users:
    """At the end they delete what would never end: their RayClusters and RayServices, and gangs too large for
    a queue, as those block what stands behind them where the order is strict."""

    def __init__(self, sim: Simulation, namespaces: tuple[str, ...]) -> None:
        self._sim, self._random, self._namespaces = sim, sim.random, namespaces
        self._serial = 0
        self._actions: tuple[tuple[int, Callable[[], None]], ...] = (
            (8, self._submit_job),
            (2, self._submit_cluster),
            (2, self._submit_service),
            (2, self._submit_unreasonable),
            (2, self._delete_job),
            (2, self._delete_cluster),
            (1, self._delete_service),
            (2, self._delete_workload),
            (2, self._change_priority),
            (1, self._change_queue),
            (2, self._toggle_suspend),
            (1, self._toggle_active),
            (2, self._annotate_workload),
            (2, self._run_out_of_stock),
            (1, self._revoke),
        )

    async def act(self, actions: int) -> None:
        weights = [w for w, _ in self._actions]
        for _ in range(actions):
            # half of the time right away: what comes together goes wrong together
            await asyncio.sleep(self._random.choice((0.1, self._random.uniform(0, PAUSE_S_MAX))))
            with contextlib.suppress(Refused):
                self._random.choices(self._actions, weights)[0][1]()

    def stop(self) -> None:
        for kind in (kinds.RAY_CLUSTERS, kinds.RAY_SERVICES):
            for endless in self._queued(kind):
                self._sim.api.delete(kind, key_of(endless), "user")
        for job in self._queued(kinds.RAY_JOBS):
            if job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] == TOO_MANY:
                self._sim.api.delete(kinds.RAY_JOBS, key_of(job), "user")

    def _submit_job(self) -> None:
        self._submit(
            workers=self._random.choice((1, 2, 4, 4)),
            priority=self._random.choice(("dev-priority", "dev-priority", "prod-priority", "")),
            outcome=self._random.choice(("SUCCEEDED", "SUCCEEDED", "FAILED")),
            submissionMode=self._random.choice(("K8sJobMode", "HTTPMode")),
        )

    def _submit_unreasonable(self) -> None:
        self._submit(**self._random.choice(UNREASONABLE))

    def _submit(self, **fields: Any) -> None:
        self._serial += 1
        namespace = self._random.choice(self._namespaces)
        seconds = self._random.choice((2, 20, 90))
        self._sim.submit(ray_job(f"job{self._serial}", namespace=namespace, seconds=seconds, **fields))

    def _submit_cluster(self) -> None:
        self._serial += 1
        namespace = self._random.choice(self._namespaces)
        workers = self._random.choice((0, 1, 3))
        self._sim.submit(ray_cluster(f"cluster{self._serial}", workers=workers, namespace=namespace))

    def _submit_service(self) -> None:
        self._serial += 1
        self._sim.submit(
            ray_service(
                f"service{self._serial}",
                workers=self._random.choice((0, 1, 3)),
                priority=self._random.choice(("dev-priority", "prod-priority")),
                namespace=self._random.choice(self._namespaces),
            )
        )

    def _delete_job(self) -> None:
        self._sim.api.delete(
            kinds.RAY_JOBS, self._any(kinds.RAY_JOBS), "user", foreground=self._random.random() < 0.3
        )

    def _delete_cluster(self) -> None:
        self._sim.api.delete(kinds.RAY_CLUSTERS, self._any(kinds.RAY_CLUSTERS), "user")

    def _delete_service(self) -> None:
        self._sim.api.delete(kinds.RAY_SERVICES, self._any(kinds.RAY_SERVICES), "user")

    def _delete_workload(self) -> None:
        self._sim.api.delete(kinds.WORKLOADS, self._any(kinds.WORKLOADS), "user")

    def _change_priority(self) -> None:
        self._label(kueue.PRIORITY_LABEL, ("prod-priority", "dev-priority"))

    def _change_queue(self) -> None:
        self._label(kueue.QUEUE_LABEL, ("user-queue", "user-queue", "elsewhere"))

    def _label(self, label: str, values: tuple[str, ...]) -> None:
        patch = {"metadata": {"labels": {label: self._random.choice(values)}}}
        self._sim.patch(kinds.RAY_JOBS, self._any(kinds.RAY_JOBS), patch)

    def _toggle_suspend(self) -> None:
        """Starts a job that has no quota, or stops one that has."""
        job = self._sim.job(self._any(kinds.RAY_JOBS))
        suspend = self._sim.has(key_of(job), "Admitted")
        if state_of(job) not in ("Complete", "Failed", "ValidationFailed"):
            self._sim.patch(kinds.RAY_JOBS, key_of(job), {"spec": {"suspend": suspend}})

    def _toggle_active(self) -> None:
        key = self._any(kinds.WORKLOADS)
        active = self._sim.api.get(kinds.WORKLOADS, key)["spec"]["active"]
        self._sim.patch(kinds.WORKLOADS, key, {"spec": {"active": not active}})

    def _annotate_workload(self) -> None:
        """Makes whatever the controller is about to write on it stale."""
        patch = {"metadata": {"annotations": {"looked-at": str(self._sim.api.now_ms())}}}
        self._sim.patch(kinds.WORKLOADS, self._any(kinds.WORKLOADS), patch)

    def _run_out_of_stock(self) -> None:
        self._sim.cloud.stock_outs = self._random.choice((0, 1, 2, 6))

    def _revoke(self) -> None:
        kind = self._random.choice(("CapacityRevoked", "BookingExpired"))
        request = self._sim.api.get(kinds.PROVISIONING_REQUESTS, self._any(kinds.PROVISIONING_REQUESTS))
        told = {c["type"] for c in request.get("status", {}).get("conditions", [])}
        if told == {"Accepted", "Provisioned"}:
            self._sim.cloud.say(request, kind, f"{kind} by the cloud")

    def _any(self, kind: kinds.Kind[Any]) -> str:
        found = self._queued(kind)
        if not found:
            raise Refused(404, f"no {kind} yet")
        return key_of(self._random.choice(found))

    def _queued(self, kind: kinds.Kind[Any]) -> list[Body]:
        """Without the RayClusters of RayJobs and RayServices."""
        by_hand = kind in (kinds.RAY_JOBS, kinds.RAY_CLUSTERS, kinds.RAY_SERVICES)
        return [b for b in self._sim.api.all(kind) if not (by_hand and "ownerReferences" in b["metadata"])]
