"""The sentences that a user reads. They complete "the workload …"."""

from dataclasses import replace

import pytest

from muster.admission import (
    Flavor,
    PreemptionPolicy,
    QueueingStrategy,
    Quota,
    Rules,
    Shortfall,
    Snapshot,
    WaitReason,
    decide,
)
from muster.admission.explain import Explainer, HeadWait, Wait
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    cohort,
    messages,
    pods,
    queue,
    running,
    snapshot,
    taint,
    workload,
)

LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
ML = {"cohort": "ml"}
GIB = 2**30


def team_a(quota: int | Quota, **fields: str) -> Snapshot:
    """Team-a uses 12 GPUs and 8 more are wanted; its cohort's other queue uses 2 of 4."""
    return snapshot(
        [queue("team-a", quota, **fields), queue("team-b", 4, cohort="ml")],
        running("r", "team-a", gpu=12),
        running("s", "team-b", gpu=2),
        workload("w", "team-a", 8),
    )


SENTENCES = {  # of workload w
    "borrows too little": (
        team_a(16, **ML),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and cohort ml can lend 2 more",
    ),
    "no cohort": (
        team_a(16),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left",
    ),
    "may not borrow": (
        team_a(Quota(16, borrowing_limit=0), **ML),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and may not borrow",
    ),
    "nothing to lend": (
        snapshot(
            [queue("q", 4, **ML), queue("other", 2, **ML)],
            running("r", "other", gpu=2),
            workload("w", "q", 5),
        ),
        f"needs 5 {GPU} of flavor l4 but ClusterQueue q has 4 of 4 left and cohort ml has nothing to lend",
    ),
    "others have borrowed it": (
        snapshot(
            [queue("q", 4, **ML), queue("other", 2, **ML)],
            running("r", "other", gpu=5),
            workload("w", "q", 3),
        ),
        f"needs 3 {GPU} of flavor l4 but ClusterQueue q has 1 of 4 left, as cohort ml has lent out 3",
    ),
    "cpu and memory in their own units": (
        snapshot(
            queue("q", {"cpu": {"cpu": 8000, "memory": 64 * GIB}}),
            workload("big", "q", pods(requests={"cpu": 6500, "memory": GIB}), priority=1),
            workload("w", "q", pods(requests={"cpu": 4000, "memory": GIB})),
        ),
        "needs 4 cpu of flavor cpu but ClusterQueue q has 1500m of 8 left",
    ),
    "memory": (
        snapshot(
            queue("q", {"cpu": {"memory": 64 * GIB}}),
            workload("big", "q", pods(requests={"memory": 33 * GIB}), priority=1),
            workload("w", "q", pods(requests={"memory": 63 * GIB // 2})),
        ),
        "needs 32256Mi memory of flavor cpu but ClusterQueue q has 31Gi of 64Gi left",
    ),
    "the resource that lacks most comes first": (
        snapshot(
            queue("q", {"l4": {"cpu": 10_000, GPU: 4}}),
            workload("big", "q", pods(gpu=4, requests={"cpu": 1000}), priority=1),
            workload("w", "q", pods(gpu=2, requests={"cpu": 10_000})),
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left; "
        "also needs 10 cpu of flavor l4 but it has 9 of 10 left",
    ),
    "a device comes before cpu": (
        snapshot(
            queue("q", {"l4": {"cpu": 4000, GPU: 4}}),
            workload("big", "q", pods(gpu=4, requests={"cpu": 4000}), priority=1),
            workload("w", "q", pods(gpu=4, requests={"cpu": 4000})),
        ),
        f"needs 4 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left; "
        "also needs 4 cpu of flavor l4 but it has 0 of 4 left",
    ),
    "no flavor without quota for the resource, as on the shipped stacks": (
        snapshot(
            queue("q", {"cpu": {"cpu": 2000, GPU: 0}, "l4": {"cpu": 20_000, GPU: 5}}),
            running("r", gpu=5),
            workload("w", "q", pods(gpu=5, requests={"cpu": 1000})),
        ),
        f"needs 5 {GPU} of flavor l4 but ClusterQueue q has 0 of 5 left",
    ),
    "never, and no flavor without quota": (
        snapshot(
            queue("q", {"cpu": {"cpu": 2000, GPU: 0}, "l4": {"cpu": 20_000, GPU: 5}}),
            workload("w", "q", pods(gpu=6, requests={"cpu": 1000})),
        ),
        f"needs 6 {GPU} of flavor l4 but ClusterQueue q can have at most 5: request less, or raise its quota",
    ),
    "all that later pod sets lack": (
        snapshot(
            queue("q", {"cpu": {"cpu": 2000, GPU: 0}, "l4": {"cpu": 0, GPU: 4}}),
            running("r", gpu=3),
            workload("big", "q", pods(requests={"cpu": 1500}), priority=1),
            workload("w", "q", pods("head", requests={"cpu": 1000}), pods(gpu=2)),
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 1 of 4 left; "
        "also needs 1 cpu of flavor cpu but it has 500m of 2 left",
    ),
    "flavors that its pods cannot use": (
        snapshot(
            queue("q", {"l4": {GPU: 4}, "t4": {GPU: 4}, "cpu": {GPU: 0}}),
            running("r", gpu=4),
            workload("w", "q", pods(gpu=2, node_selector={"pool": "l4"})),
            flavors=[Flavor("l4", {"pool": "l4"}), Flavor("t4", {"pool": "t4"}, taints=(taint("gpu"),))],
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left (flavor t4 has the taint "
        "gpu=:NoSchedule, which is not tolerated and has the label pool=t4, but the node selector requires "
        "l4)",
    ),
    "more in use than the quota allows": (
        snapshot(queue("q", 2), running("r", gpu=4), workload("w", "q", 2)),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 2 left, with usage 2 above the quota",
    ),
    "it has borrowed up to its limit": (
        snapshot(
            [queue("q", Quota(2, borrowing_limit=1), **ML), queue("other", 8, **ML)],
            running("r", gpu=3),
            workload("w", "q", 2),
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 2 left and may borrow no more of it",
    ),
    "pods that are done need nothing": (
        snapshot(queue("q", 4), running("r", gpu=3), workload("w", "q", pods(count=4, gpu=1, reclaimable=2))),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 1 of 4 left",
    ),
    "it may borrow as much as the cohort can lend": (
        team_a(Quota(16, borrowing_limit=2), **ML),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and cohort ml can lend 2 more",
    ),
    "it may borrow more than the cohort can lend": (
        team_a(Quota(16, borrowing_limit=5), **ML),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and cohort ml can lend 2 more",
    ),
    "it may borrow less than the cohort can lend, and lends less than its quota": (
        team_a(Quota(16, borrowing_limit=1, lending_limit=3), **ML),
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and may borrow 1 more of it",
    ),
    "no flavors of resources with enough quota": (
        snapshot(
            queue("q", {"cpu": {"cpu": 4000}, "spot": {"cpu": 4000}}, {"l4": {GPU: 4}}),
            running("r", gpu=4),
            workload("w", "q", pods(gpu=2, requests={"cpu": 1000})),
            flavors=[Flavor("spot", taints=(taint("spot"),))],
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left",
    ),
    "as few pods as would do": (
        snapshot(queue("q", 4), running("r", gpu=4), workload("w", "q", pods(count=6, gpu=1, count_min=2))),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left",
    ),
    "quota nowhere": (
        snapshot(queue("q", {"cpu": {"cpu": 2000, GPU: 0}}), workload("w", "q", pods(gpu=1))),
        f"pod set workers requests {GPU}, for which ClusterQueue q has no quota",
    ),
    "quota nowhere for two resources: the first by name": (
        snapshot(
            queue("q", {"l4": {GPU: 0, "cpu": 0}, "t4": {GPU: 0, "cpu": 0}}),
            workload("w", "q", pods(gpu=1, requests={"cpu": 1})),
        ),
        "pod set workers requests cpu, for which ClusterQueue q has no quota",
    ),
    "quota only where its pods cannot go, and too little": (
        snapshot(
            queue("q", {"cpu": {GPU: 0}, "l4": {GPU: 4}}),
            workload("w", "q", pods(gpu=5)),
            flavors=[Flavor("l4", taints=(taint("gpu"),))],
        ),
        f"pod set workers requests {GPU}, but matches no flavor of ClusterQueue q: cpu does not provide "
        f"{GPU}, l4 has the taint gpu=:NoSchedule, which is not tolerated; and it needs 5 {GPU} of flavor l4 "
        "but ClusterQueue q can have at most 4: request less, or raise its quota",
    ),
    "the flavor that lacks least": (
        snapshot(
            queue("q", {"l4": {GPU: 4}, "t4": {GPU: 4}}),
            running("r", gpu=4),
            running("s", gpu=2, flavor="t4"),
            workload("w", "q", 4),
        ),
        f"needs 4 {GPU} of flavor t4 but ClusterQueue q has 2 of 4 left",
    ),
    "never": (
        snapshot(queue("q", 4), workload("w", "q", pods(count=5, gpu=1))),
        f"needs 5 {GPU} of flavor l4 but ClusterQueue q can have at most 4: request less, or raise its quota",
    ),
    "never, of one flavor, though another lacked less at first": (
        snapshot(
            queue("q", {"l4": {GPU: 2}, "t4": {GPU: 2}}),
            workload("w", "q", *(pods(name, gpu=gpu) for name, gpu in (("a", 3), ("b", 3), ("c", 5)))),
        ),
        f"needs 11 {GPU} of flavor l4 but ClusterQueue q can have at most 2: "
        "request less, or raise its quota",
    ),
    "never, even borrowing": (
        snapshot(queue("q", 4, **ML), workload("w", "q", 9), cohorts=[cohort("ml", None, {"l4": {GPU: 2}})]),
        f"needs 9 {GPU} of flavor l4 but ClusterQueue q can have at most 6 (2 of it borrowed): "
        "request less, or raise its quota",
    ),
    "no quota for a resource": (
        snapshot(queue("q", 4), workload("w", "q", pods(requests={"google.com/tpu": 4}))),
        "pod set workers requests google.com/tpu, for which ClusterQueue q has no quota",
    ),
    "no flavor": (
        snapshot(
            queue("q", {"l4": {GPU: 4}, "t4": {GPU: 4}}),
            workload("w", "q", pods(gpu=1, node_selector={"pool": "h100"})),
            flavors=[Flavor("l4", taints=(taint("gpu", "present"),)), Flavor("t4", {"pool": "t4"})],
        ),
        f"pod set workers requests {GPU}, but matches no flavor of ClusterQueue q: l4 has the taint "
        "gpu=present:NoSchedule, which is not tolerated, t4 has the label pool=t4, but the node selector "
        "requires h100",
    ),
    "no node large enough": (
        snapshot(
            queue("q", {"l4": {GPU: 4, "memory": 900 * GIB}}),
            workload("w", "q", pods("head", gpu=1, requests={GPU: 1, "memory": 300 * GIB})),
            flavors=[Flavor("l4", node_sizes=({"memory": 220 * GIB},))],
        ),
        f"pod set head requests {GPU}, but matches no flavor of ClusterQueue q: l4 has 220Gi memory for pods "
        "on its largest node, but a pod requests 300Gi",
    ),
    "one victim": (
        snapshot(queue("q", 1, within_queue=LOWER), running("r"), workload("w", "q", 1, priority=1)),
        "waits for 1 preempted workload to terminate: ns/r",
    ),
    "two victims": (
        snapshot(
            queue("q", 2, within_queue=LOWER),
            running("r"),
            running("s"),
            workload("w", "q", 2, priority=1),
        ),
        "waits for 2 preempted workloads to terminate: ns/r and ns/s",
    ),
    "more victims": (
        snapshot(
            queue("q", 4, within_queue=LOWER),
            *(running(name) for name in "prst"),
            workload("w", "q", 4, priority=1),
        ),
        "waits for 4 preempted workloads to terminate: ns/p, ns/r and 2 more",
    ),
    "surplus of an elastic gang": (
        snapshot(
            queue("q", 3, within_queue=LOWER),
            running("r"),
            *(replace(running(f"r+{n}"), surplus_of="ns/r") for n in (1, 2)),
            workload("w", "q", 2, priority=1),
        ),
        "waits for 2 preempted replicas of ns/r to terminate",
    ),
    "a gang with its surplus": (
        snapshot(
            queue("q", 2, within_queue=LOWER),
            *(running("r"), replace(running("r+1"), surplus_of="ns/r")),
            workload("w", "q", 2, priority=1),
        ),
        "waits for 1 preempted workload to terminate: ns/r",
    ),
    "another one's victims": (
        snapshot(
            [
                queue("a", 0, **ML),
                queue("b", 2, cohort="ml", reclaim_within_cohort=ANY),
                queue("c", 2, cohort="ml", reclaim_within_cohort=ANY),
            ],
            running("r", "a", gpu=4),
            workload("first", "b", 2),
            workload("w", "c", 2, queued_at_ms=1),
        ),
        "waits for 1 preempted workload to terminate: ns/r, and for ns/first, which is ahead of it",
    ),
    "kept for a preemptor": (
        snapshot(
            [queue("a", 4, within_queue=LOWER, **ML), queue("b", 0, **ML)],
            running("r", "a", gpu=3),
            workload("big", "a", 4, priority=1),
            workload("w", "b", 1),
        ),
        "waits because the quota it needs is reserved for ns/big, which is ahead of it",
    ),
    "taken back": (
        snapshot(
            [queue("a", 0, **ML), queue("b", 4, cohort="ml", reclaim_within_cohort=ANY)],
            workload("w", "a", 2),
            workload("first", "b", 2, priority=1),
            workload("second", "b", 2),
        ),
        f"needs 2 {GPU} of flavor l4 but ClusterQueue a has 0 of 0 left and cohort ml has nothing to lend",
    ),
    "behind the head": (
        snapshot(
            queue("q", 2, within_queue=LOWER),
            running("r", gpu=2),
            workload("head", "q", 2, priority=1),
            workload("w", "q", 1),
        ),
        "waits behind ns/head, the head of ClusterQueue q",
    ),
    "behind a strict head": (
        snapshot(
            queue("q", 2, strategy=QueueingStrategy.STRICT_FIFO),
            running("r", gpu=1),
            workload("head", "q", 2, priority=1),
            workload("w", "q", 1),
        ),
        "waits behind ns/head, the head of ClusterQueue q (StrictFIFO)",
    ),
    "hopeless, though behind the head": (
        snapshot(
            queue("q", 2, strategy=QueueingStrategy.STRICT_FIFO),
            running("r", gpu=1),
            workload("head", "q", 2, priority=1),
            workload("w", "q", 3),
        ),
        f"needs 3 {GPU} of flavor l4 but ClusterQueue q can have at most 2: request less, or raise its quota",
    ),
}


@pytest.mark.parametrize(("of", "sentence"), SENTENCES.values(), ids=SENTENCES.keys())
def test_sentence_says_why_it_waits(of: Snapshot, sentence: str) -> None:
    assert messages(decide(of, NOW_MS))["w"] == sentence


def test_workload_that_fits_but_was_not_tried_again() -> None:
    waiting = workload("w", "q", 1)
    explainer = Explainer(WorkingState(snapshot(queue("q", 2), waiting)), NOW_MS)
    explanation = explainer.queued(waiting, HeadWait(Wait.NO_FIT), "alike")
    assert (explanation.reason, explanation.message) == (
        WaitReason.QUOTA,
        "fits now, and is retried after the next change",
    )


def test_the_quota_that_binds_is_data_too() -> None:
    of = snapshot(
        [queue("team-a", Quota(16, borrowing_limit=2), **ML), queue("team-b", 4, **ML)],
        running("r", "team-a", gpu=12),
        workload("w", "team-a", 8),
    )
    (waiting,) = decide(of, NOW_MS).waiting
    assert waiting.shortfalls == (
        Shortfall("l4", GPU, needed=8, missing=2, nominal=16, used=12, available=6, available_max=18),
    )
    assert waiting.message == (
        f"needs 8 {GPU} of flavor l4 but ClusterQueue team-a has 4 of 16 left and may borrow 2 more of it"
    )


def test_excluded_flavors_are_data_too() -> None:
    of = snapshot(
        queue("q", {"l4": {GPU: 4}, "t4": {GPU: 4}, "cpu": {GPU: 0}}),
        workload("w", "q", pods(gpu=1, node_selector={"pool": "h100"})),
        flavors=[Flavor("l4", taints=(taint("gpu", "present"),)), Flavor("t4", {"pool": "t4"})],
    )
    (waiting,) = decide(of, NOW_MS).waiting
    assert [
        (exclusion.flavor, exclusion.pod_set, str(exclusion.cause), exclusion.key)
        for exclusion in waiting.exclusions
    ] == [
        ("l4", "workers", "UntoleratedTaint", "gpu"),
        ("t4", "workers", "NodeSelector", "pool"),
        ("cpu", "workers", "NoQuota", GPU),
    ]


def test_a_flavor_that_is_not_allowed_for_the_workload_is_excluded() -> None:
    of = snapshot(queue("q", 4), workload("w", "q", 1, allowed_flavors=("t4",)))
    (waiting,) = decide(of, NOW_MS, Rules(concurrent_admission=True)).waiting
    assert [
        (exclusion.flavor, str(exclusion.cause), exclusion.message) for exclusion in waiting.exclusions
    ] == [("l4", "Other", "is not one of those allowed for it")]


def test_others_that_it_waits_for_are_data_too() -> None:
    of = snapshot(
        queue("q", 2, within_queue=LOWER),
        running("r", gpu=2),
        workload("head", "q", 2, priority=1),
        workload("w", "q", 1),
    )
    others = {waiting.workload: waiting.others for waiting in decide(of, NOW_MS).waiting}
    assert others == {"ns/head": ("ns/r",), "ns/w": ("ns/head",)}
