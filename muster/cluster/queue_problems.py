"""Returns why a ClusterQueue or AdmissionCheck can't admit workloads."""

from muster.cluster import provisioning_timeouts
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import StatusReason
from muster.objects import kueue_checks, kueue_queues
from muster.objects.names import PROVISIONING_CONTROLLER
from muster.translation import snapshot

STOPPED = "Stopped"


def queue_problem(queue: kueue_queues.ClusterQueue, cluster: ClusterState) -> StatusReason | None:
    """Returns why the queue can't admit workloads, with Kueue's reasons; None if it can."""
    return cluster.cache.get(_queue_problem, queue.key, queue, cluster)


def _queue_problem(queue: kueue_queues.ClusterQueue, cluster: ClusterState) -> StatusReason | None:
    if queue.metadata.deletion_timestamp:
        return StatusReason("Terminating", "The ClusterQueue is being deleted")
    if queue.spec.stop_policy != "None":
        return StatusReason(STOPPED, f"Stopped by its stopPolicy {queue.spec.stop_policy}")
    problem = cluster.cache.get(snapshot.problem, queue.key, queue)
    if problem:
        return StatusReason("Unknown", problem)
    scope = queue.spec.admission_scope
    if scope is not None and scope.admission_mode == snapshot.USAGE_BASED:
        return StatusReason(
            "UnsupportedAdmissionMode",
            f"admissionScope.admissionMode {scope.admission_mode} is not supported, as the usage of "
            "LocalQueues is not recorded: remove admissionScope",
        )
    flavors = [f.name for g in queue.spec.resource_groups for f in g.flavors]
    missing = [name for name in flavors if name not in cluster.flavors]
    if missing:
        return StatusReason("FlavorNotFound", f"ResourceFlavors that do not exist: {', '.join(missing)}")
    topologies = sorted({cluster.flavors[name].spec.topology_name for name in flavors} - {""})
    missing = [name for name in topologies if name not in cluster.topologies]
    if missing:
        return StatusReason("TopologyNotFound", f"Topologies that do not exist: {', '.join(missing)}")
    rules = queue.spec.admission_checks_strategy.admission_checks
    missing = [r.name for r in rules if r.name not in cluster.checks]
    if missing:
        return StatusReason(
            "AdmissionCheckNotFound", f"AdmissionChecks that do not exist: {', '.join(missing)}"
        )
    for check in (cluster.checks[r.name] for r in rules):
        if is_managed(check) and (problem := config_problem(check, cluster)):
            return StatusReason("AdmissionCheckInactive", f"AdmissionCheck {check.key}: {problem}")
    return None


def is_managed(check: kueue_checks.AdmissionCheck) -> bool:
    """Returns whether this controller manages the check: those of ProvisioningRequests."""
    return check.spec.controller_name == PROVISIONING_CONTROLLER


def config_problem(check: kueue_checks.AdmissionCheck, cluster: ClusterState) -> str:
    """Returns what is wrong with the check's ProvisioningRequestConfig; empty if it is valid."""
    if check.spec.parameters is None:
        return "spec.parameters must refer to a ProvisioningRequestConfig"
    config = cluster.provisioning_configs.get(check.spec.parameters.name)
    if config is None:
        return f"ProvisioningRequestConfig {check.spec.parameters.name!r} does not exist"
    return provisioning_timeouts.problem(config)
