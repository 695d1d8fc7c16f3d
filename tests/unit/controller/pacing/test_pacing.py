"""Limits of the writes of a controller, together."""

from muster.controller.pacing.pacing import Pacing
from muster.controller.passes.pass_plan import PassPlan, PassStatistics
from muster.kube import kinds
from tests.simulation.manifests import cluster_queue, quotas
from tests.unit.controller.builders import NOW_MS, make_cluster


def test_statuses_of_changed_queues_are_written_in_a_reproducible_order() -> None:
    """A set of queues has another order in each process."""
    names = [f"team-{number:02}" for number in range(20)]
    cluster = make_cluster({kinds.CLUSTER_QUEUES: [cluster_queue(n, quotas("cpu", cpu=8)) for n in names]})
    changed = {(kinds.CLUSTER_QUEUES, name) for name in names}
    plan = PassPlan(statistics=PassStatistics(changed_queues=changed))
    writes = Pacing(lambda: 0.0).queue_status_writes(cluster, plan, NOW_MS, 0)
    assert [planned.write.key for planned in writes] == names
