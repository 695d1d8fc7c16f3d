"""The admission checks of a Workload that need ProvisioningRequests, and the pod sets that they concern.

Source: Kueue pkg/controller/admissionchecks/provisioning at v0.19.2.
"""

from collections.abc import Iterator

from muster.cluster.cluster_state import ClusterState
from muster.objects import kueue
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, PodSet, WorkloadStatus
from muster.objects.kueue_checks import ProvisioningRequestConfig
from muster.objects.names import PROVISIONING_CONTROLLER
from muster.objects.pods import read_template


def managed_checks(
    status: WorkloadStatus, cluster: ClusterState
) -> Iterator[tuple[AdmissionCheckState, ProvisioningRequestConfig | None]]:
    """Yields the workload's provisioning checks, each with its config; None if the config is missing."""
    for state in status.admission_checks:
        check = cluster.checks.get(state.name)
        if check is not None and check.spec.controller_name == PROVISIONING_CONTROLLER:
            name = check.spec.parameters.name if check.spec.parameters else ""
            yield state, cluster.provisioning_configs.get(name)


def is_managed(pod_set: PodSet, config: ProvisioningRequestConfig) -> bool:
    """Returns whether the pod set requests a managed resource; so do all if the config names no
    resources."""
    managed = set(config.spec.managed_resources)
    return not managed or bool(managed & _resources_of(pod_set))


def pod_sets_managed(workload: kueue.Workload, config: ProvisioningRequestConfig) -> Iterator[PodSet]:
    """Yields the managed pod sets that have pods in the gang."""
    yield from (ps for ps in workload.spec.pod_sets if ps.count > 0 and is_managed(ps, config))


def matches(request: ProvisioningRequest, config: ProvisioningRequestConfig) -> bool:
    """Returns whether the request has the class and the parameters of the config."""
    same_class = request.spec.provisioning_class_name == config.spec.provisioning_class_name
    return same_class and config.spec.parameters.items() <= request.spec.parameters.items()


def _resources_of(pod_set: PodSet) -> set[str]:
    spec = read_template(pod_set.template).spec
    containers = (*spec.init_containers, *spec.containers)
    return {name for c in containers for name in (*c.resources.requests, *c.resources.limits)}
