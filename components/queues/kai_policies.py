"""Policies that translate the labels of Kueue's API on Ray objects into KAI's labels.

So manifests do not depend on the engine. In Kueue a higher priority may preempt every gang; KAI by default
treats a gang of priority 100 or more as non-preemptible, and keeps it within its queue's quota
(docs/developer/designs/priority-preemptibility-separation). Users can ask for that with KAI's own label.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from components.admission.autoscaling import autoscales
from components.admission.queues import Mutation
from components.admission.ray import (
    RAY_KINDS,
    Policy,
    asked_by_users,
    requests_of,
    spec_is_written_by_users,
    value_at,
)
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.rayjob import RAY_JOB
from muster.objects.names import PRIORITY_LABEL, QUEUE_LABEL
from settings.model.operators.kai import PRIORITY_PREFIX

KAI_QUEUE_LABEL = "kai.scheduler/queue"
KAI_PRIORITY_LABEL = "priorityClassName"
KAI_PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
RESOURCES = tuple(kind.plural for kind in RAY_KINDS)


@dataclass(frozen=True)
class KaiNames:
    """KAI's queues by `namespace/local queue`, and the names of WorkloadPriorityClasses."""

    queues: Mapping[str, str]
    priorities: tuple[str, ...]


def kai_mutations(names: KaiNames) -> dict[str, Mutation]:
    """Returns the MutatingAdmissionPolicies by name."""
    priority = f'{_label(PRIORITY_LABEL)}.optMap(name, "{PRIORITY_PREFIX}" + name)'
    labels = {
        f'"{KAI_QUEUE_LABEL}"': f'{json.dumps(dict(names.queues))}[?{_queue()}].orValue("")',
        f'?"{KAI_PRIORITY_LABEL}"': priority,
        f'"{KAI_PREEMPTIBILITY_LABEL}"': f'{_label(KAI_PREEMPTIBILITY_LABEL)}.orValue("preemptible")',
    }
    merged = ", ".join(f"{key}: {value}" for key, value in labels.items())
    # KubeRay's KAI plug-in refuses submitter pods: they start after the gang and cannot be part of it.
    mode = 'object.spec.?submissionMode.orValue("K8sJobMode")'
    submission = f'{mode} == "K8sJobMode" ? "HTTPMode" : {mode}'
    return {
        "muster-queued-ray-to-kai": Mutation(
            requests_of(*RAY_KINDS),
            f"Object{{metadata: Object.metadata{{labels: {{{merged}}}}}}}",
            operations=("CREATE", "UPDATE"),
        ),
        "muster-queued-rayjobs-to-kai": Mutation(
            requests_of(RAY_JOB),
            f"Object{{spec: Object.spec{{submissionMode: {submission}}}}}",
            operations=("CREATE", "UPDATE"),
        ),
    }


def kai_validations(names: KaiNames) -> list[Policy]:
    """Returns policies that refuse queues and priorities that KAI would leave Pending, or misread."""
    queues, priorities = ", ".join(names.queues), ", ".join(names.priorities) or "none"
    return [
        Policy(
            name="muster-kai-knows-queue-and-priority",
            resources=RESOURCES,
            operations=("CREATE", "UPDATE"),
            rules={
                f"{_queue()} in {json.dumps(list(names.queues))}": (
                    f"no such queue: {QUEUE_LABEL} must name a queue of this namespace (as namespace/queue, "
                    f"one of {queues})"
                ),
                f'{_label(PRIORITY_LABEL)}.orValue("") in {json.dumps(["", *names.priorities])}': (
                    f"no such priority: {PRIORITY_LABEL} must be one of {priorities}"
                ),
            },
            label=QUEUE_LABEL,
            condition=asked_by_users("kai"),
        ),
        Policy(
            name="muster-kai-queues-go-by-label",
            resources=RESOURCES,
            operations=("CREATE", "UPDATE"),
            rules={
                f"!{_label(KAI_QUEUE_LABEL)}.hasValue() || {_label(QUEUE_LABEL)}.hasValue()": (
                    f"{KAI_QUEUE_LABEL} is derived from {QUEUE_LABEL}: set {QUEUE_LABEL} instead"
                )
            },
            condition=asked_by_users("kai"),
        ),
        *map(_countable, RAY_KINDS),
    ]


def _countable(kind: JobKind) -> Policy:
    """Returns the policy for sizes that KAI counts as KubeRay does (KAI v0.12.0,
    pkg/podgrouper/podgrouper/plugins/ray/ray_grouper.go). It creates no PodGroup if `replicas` are fewer than
    `minReplicas`, and takes `replicas` for the minimum if `minReplicas` is 0: the head of a group that Ray's
    autoscaler scales would be evicted with it 60 s after it has grown beyond what fits."""
    groups = value_at("object", f"{kind.ray_cluster}.workerGroupSpecs", "[]")
    low = "g.?minReplicas.orValue(0)"
    return Policy(
        name=f"muster-kai-counts-{kind.plural}",
        resources=(kind.plural,),
        operations=("CREATE", "UPDATE"),
        rules={
            f"{groups}.all(g, {low} <= g.?replicas.orValue(0))": (
                f"KAI schedules no pod of a queued {kind.name} with a worker group of fewer replicas than "
                "minReplicas: raise replicas"
            ),
            f"!{autoscales(kind)} || {groups}.all(g, {low} >= 1)": (
                "KAI takes all replicas for the minimum of a worker group without minReplicas, and would "
                f"evict an autoscaled {kind.name} with its head once it grows beyond what fits: set "
                "minReplicas to at least 1"
            ),
        },
        label=QUEUE_LABEL,
        condition=spec_is_written_by_users("kai"),
    )


def _label(name: str) -> str:
    return f'object.metadata.?labels[?"{name}"]'


def _queue() -> str:
    return f'(request.namespace + "/" + {_label(QUEUE_LABEL)}.orValue(""))'
