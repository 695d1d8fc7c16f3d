"""Creators of Workloads without a job: they stop at an eviction and unset the reservation, and finish.

As the performance runner of Kueue (test/performance/scheduler/runner/controller) and its external job
frameworks, they are their Workloads' only owners.
"""

import contextlib
from random import Random

from muster.kube import kinds
from muster.objects.meta import millis, rfc3339
from tests.simulation.api import Api, Body, Refused, key_of
from tests.simulation.invariants import condition, holds_quota, is_without_job
from tests.simulation.manifests import RUN_SECONDS
from tests.simulation.sweeps import Sweeps

BY, SWEEP_S_MAX = "creator", 1.0


class Creators:
    def __init__(self, api: Api, random: Random) -> None:
        self._api, self._random = api, random
        self.halted = False

    async def run(self) -> None:
        sweeps = Sweeps(self._api, self._random, SWEEP_S_MAX)
        while True:
            await sweeps.next()
            for workload in self._api.all(kinds.WORKLOADS) if not self.halted else ():
                if is_without_job(workload) and holds_quota(workload):
                    with contextlib.suppress(Refused):
                        self._reconcile(workload)

    def _reconcile(self, workload: Body) -> None:
        admitted = condition(workload, "Admitted")
        if condition(workload, "Evicted").get("status") == "True":
            self._unset(workload)
        elif admitted.get("status") == "True":
            run_ms = float(workload["metadata"]["annotations"][RUN_SECONDS]) * 1000
            if self._api.now_ms() >= millis(admitted["lastTransitionTime"]) + run_ms:
                self._tell(workload, Finished="ByTest")

    def _unset(self, workload: Body) -> None:
        """A server-side apply keeps the admission, which belongs to another field manager."""
        status = {} if self._random.random() < 0.5 else {"admission": None}
        forgets = self._random.random() < 0.2  # a creator that does not use Kueue's packages
        changed = (
            {"QuotaReserved": "Pending"}
            if forgets
            else {"QuotaReserved": "Pending", "Admitted": "NoReservation"}
        )
        self._tell(workload, status, **changed)

    def _tell(self, workload: Body, status: Body | None = None, **reasons: str) -> None:
        now = rfc3339(self._api.now_ms())
        conditions = [c for c in workload["status"]["conditions"] if c["type"] not in reasons]
        for kind, reason in reasons.items():
            condition = {"type": kind, "status": str(kind == "Finished"), "reason": reason}
            conditions.append({**condition, "message": "By test runner", "lastTransitionTime": now})
        meta = {"resourceVersion": workload["metadata"]["resourceVersion"]}
        patch = {"metadata": meta, "status": {**(status or {}), "conditions": conditions}}
        self._api.merge_patch(kinds.WORKLOADS, key_of(workload), patch, BY, True)
