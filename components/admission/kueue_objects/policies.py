"""The policies of Kueue's objects."""

from components.admission.kueue_objects.flavors import local_queues, resource_flavors
from components.admission.kueue_objects.quotas import cluster_queues, cohorts
from components.admission.kueue_objects.workloads import workloads
from components.admission.ray import Policy


def kueue_objects() -> list[Policy]:
    """AdmissionChecks have no webhook either: their schema says all (controllerName is immutable)."""
    return [cluster_queues(), cohorts(), resource_flavors(), local_queues(), workloads()]
