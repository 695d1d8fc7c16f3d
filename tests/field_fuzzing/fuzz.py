"""Rounds of random objects in a running sandbox, as a tenant."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from lightkube import Client
from lightkube.core.exceptions import ApiError

from sandbox.cluster import kinds
from tests.field_fuzzing.accounts import SUBMITTED, Existing, faults, look
from tests.field_fuzzing.subjects import PRIORITY, QUEUE, Setting, Subject, Subjects, with_settings
from tests.field_fuzzing.tenant import Refused, Tenant
from tests.stacks.dry_runs import Manifest
from tests.stacks.ray_fields import Schema

NAMESPACE = "team-a"
KINDS: Mapping[str, kinds.Kind] = {k: getattr(kinds, k) for k in SUBMITTED}
OBJECTS_A_ROUND = 6
RUNS_S, EDITED_S, GONE_S_MAX, PRODUCTION_S_MAX = 6.0, 4.0, 90.0, 45.0
SAMPLE_S = 0.5
CONFLICTS_MAX = 5  # of an edit with KubeRay's and the controller's writes
LASTS = 5  # samples in which a fault is seen: KubeRay may create pods twice, and Muster then deletes them


@dataclass
class Failure:
    """A fault of one object, with what leads to it."""

    sentence: str
    subject: Subject | None
    edits: tuple[Setting, ...] = ()

    @property
    def subject_name(self) -> str:
        return f"{self.subject.kind}/{self.subject.name}" if self.subject else "the namespace"

    def replay(self, seed: int) -> dict[str, Any]:
        """Returns it as JSON: what `REPLAY` repeats."""
        subject = self.subject
        return {
            "seed": seed,
            "fault": self.sentence,
            "base": subject.base if subject else None,
            "settings": subject.settings if subject else (),
            "edits": self.edits,
        }


@dataclass
class Tally:
    """Numbers of objects that were created, rejected and admitted, and the reasons of rejections."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)


class Fuzzer:
    """One namespace of a sandbox."""

    def __init__(self, admin: Client, tenant: Tenant, schemas: Mapping[str, Schema], random: Random) -> None:
        self._admin, self._tenant, self._schemas = admin, tenant, schemas
        self._random, self._subjects = random, Subjects(random, NAMESPACE)
        self._before = look(admin, NAMESPACE).uids()
        self._number = 0
        self.tally = Tally()

    def round(self, count: int = OBJECTS_A_ROUND) -> list[Failure]:
        """Creates objects, edits and deletes them; returns what was wrong."""
        subjects = []
        for _ in range(count):
            subjects.append(self._subjects.subject(self.new_name()))
        edits = {s.name: self._subjects.edits(s.kind) for s in subjects}
        return self.trial(subjects, edits, production=True)

    def new_name(self) -> str:
        """Returns an unused name; objects of earlier rounds may remain."""
        self._number += 1
        return f"f{self._number}"

    def trial(
        self,
        subjects: Sequence[Subject],
        edits: Mapping[str, tuple[Setting, ...]],
        *,
        production: bool = False,
    ) -> list[Failure]:
        """Runs these objects and edits once."""
        created = [subject for subject in subjects if self._create(subject)]
        events = self._watch(RUNS_S)
        self.tally.counts["admitted"] += self._running()
        for subject in created:
            self._edit(subject, edits.get(subject.name, ()))
        events |= self._watch(EDITED_S)
        if production:
            events |= self._production()
        events |= self._remove(created)
        by_name = {f"{s.kind}/{s.name}": s for s in subjects}
        return [
            Failure(sentence, by_name.get(name), edits.get(name.partition("/")[2], ()))
            for name, sentence in events.items()
        ]

    def _create(self, subject: Subject) -> bool:
        manifest = subject.manifest(self._schemas)
        try:
            self._tenant.create(manifest)
        except Refused as error:
            self.tally.counts["refused"] += 1
            self.tally.refusals[_reason(error)] += 1
            return False
        self.tally.counts["created"] += 1
        return True

    def _edit(self, subject: Subject, edits: Sequence[Setting]) -> None:
        """Replaces the object with each of the edits; the policies may refuse it."""
        for edit in edits:
            for _ in range(CONFLICTS_MAX):
                try:
                    now = dict(self._admin.get(KINDS[subject.kind], subject.name, namespace=NAMESPACE))
                    self._tenant.replace(with_settings(now, [edit], self._schemas))
                except ApiError:  # it ended, or its deletion was a part of an edit
                    break
                except Refused as error:
                    if "has been modified" in str(error):
                        continue
                    self.tally.counts["edits refused"] += 1
                else:
                    self.tally.counts["edited"] += 1
                break

    def _watch(self, seconds: float, done: Callable[[Existing], bool] = lambda _: False) -> dict[str, str]:
        """Compares repeatedly; returns faults that last, by the object's kind and name."""
        end, observed = time.monotonic() + seconds, Counter[tuple[str, str]]()
        lasting: dict[str, str] = {}
        while time.monotonic() < end or any(count < LASTS for count in observed.values()):
            existing = look(self._admin, NAMESPACE)
            now = faults(existing, self._before)
            observed = Counter({(n, s): observed[n, s] + 1 for n, s in now.items()})
            lasting |= {name: sentence for (name, sentence), count in observed.items() if count >= LASTS}
            if set(now.items()) <= set(lasting.items()) and done(existing):
                break
            time.sleep(SAMPLE_S)
        return lasting

    def _running(self) -> int:
        workloads = self._admin.list(kinds.Workload, namespace=NAMESPACE)
        return sum(kinds.is_true(workload, "Admitted") for workload in workloads)

    def _production(self) -> dict[str, str]:
        """Submits a job of production that needs all GPUs; it must run soon, regardless of the others."""
        name = f"prod{self._number}"
        self._admin.create(kinds.RayJob(production_job(name)))
        started = time.monotonic()

        def admitted(existing: Existing) -> bool:
            return any(
                w["metadata"]["ownerReferences"][0]["name"] == name and kinds.is_true(w, "Admitted")
                for w in existing.objects["Workload"]
            )

        events = self._watch(PRODUCTION_S_MAX, admitted)
        if not admitted(look(self._admin, NAMESPACE)):
            events[f"RayJob/{name}"] = f"production waited more than {PRODUCTION_S_MAX:.0f} s"
        self.tally.counts["production"] += 1
        self.tally.counts["production waited s"] += round(time.monotonic() - started)
        return events

    def _remove(self, created: Sequence[Subject]) -> dict[str, str]:
        """Deletes all Ray objects as the tenant; no part may remain."""
        for kind, resource in KINDS.items():
            for obj in self._admin.list(resource, namespace=NAMESPACE):
                if not obj["metadata"].get("ownerReferences"):
                    with suppress(Refused):
                        self._tenant.delete(kind, obj["metadata"]["name"])

        def gone(existing: Existing) -> bool:
            return existing.uids() <= self._before

        events = self._watch(GONE_S_MAX, gone)
        remaining = look(self._admin, NAMESPACE)
        if not gone(remaining):
            names = [
                f"{kind} {obj['metadata']['name']}"
                for kind, mine in remaining.objects.items()
                for obj in mine
                if obj["metadata"]["uid"] not in self._before
            ]
            remains = f"remains after {GONE_S_MAX:.0f} s: {', '.join(names[:5])}"
            events.setdefault(_first(remaining, self._before), remains)
            self._before |= remaining.uids()
        return events


def _first(remaining: Existing, before: set[str]) -> str:
    for kind in SUBMITTED:
        for obj in remaining.objects[kind]:
            if obj["metadata"]["uid"] not in before:
                return f"{kind}/{obj['metadata']['name']}"
    return ""


def _reason(error: Refused) -> str:
    message = str(error)
    policy = message.partition("ValidatingAdmissionPolicy '")[2].partition("'")[0]
    return policy or message.partition(": ")[2][:80]


def production_job(name: str) -> Manifest:
    containers = [{"name": "c", "image": "ray", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]
    worker = json.loads(json.dumps(containers))
    worker[0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    group = {
        "groupName": "gpu",
        "replicas": 4,
        "minReplicas": 4,
        "maxReplicas": 4,
        "rayStartParams": {},
        "template": {"spec": {"containers": worker}},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {QUEUE: "user-queue", PRIORITY: "inference"},
            "annotations": {"sandbox.muster.dev/run-seconds": "2"},
        },
        "spec": {
            "shutdownAfterJobFinishes": True,
            "submissionMode": "HTTPMode",
            "entrypoint": "true",
            "rayClusterSpec": {
                "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": containers}}},
                "workerGroupSpecs": [group],
            },
        },
    }
