"""Admission policies that replace Kueue's webhooks with engine muster, where no Kueue runs.

Source: Kueue pkg/webhooks at v0.19.2, with its feature gates at their defaults; docs/kueue-webhooks.md lists
each rule and where it is checked.
"""

from components.admission.kueue_objects.flavors import local_queues, resource_flavors
from components.admission.kueue_objects.quotas import cluster_queues, cohorts
from components.admission.kueue_objects.workloads import workloads
from components.admission.ray import Policy


def kueue_objects() -> list[Policy]:
    """Returns the policies. AdmissionChecks need none: Kueue has no webhook for them, only their schema."""
    return [cluster_queues(), cohorts(), resource_flavors(), local_queues(), workloads()]
