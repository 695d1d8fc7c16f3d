"""Cost allocation."""

from collections.abc import Iterator, Mapping
from typing import Any

from policies.reading import TEXT_LIST, pick
from policies.rule import Config, Resource, resource_rule
from policies.rules.cluster import CLUSTER

LABELS = ("environment", "cost-center")
# The property with a kind's labels. GKE copies a cluster's labels to its nodes and disks.
LABELLED = {
    CLUSTER: "resourceLabels",
    "gcp:artifactregistry/repository:Repository": "labels",
    "gcp:storage/bucket:Bucket": "labels",
}


def _labels(resource: Resource) -> Mapping[str, str]:
    return resource.props.get(LABELLED[resource.kind]) or {}


def add_labels(resource: Resource, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns missing labels, with the values in the environment's configuration (`labels`)."""
    missing = {
        key: value for key, value in (config.get("labels") or {}).items() if key not in _labels(resource)
    }
    return {LABELLED[resource.kind]: {**_labels(resource), **missing}} if missing else {}


@resource_rule(
    "muster-cost-labels",
    *LABELLED,
    source="Google Cloud, labels in billing reports; Checkov CKV_GCP_21",
    severity="medium",
    remediation=add_labels,
    parameters={"costCenters": TEXT_LIST},
)
def cost_labels(resource: Resource, config: Config) -> Iterator[str]:
    """Billed resources are labeled with the stack's environment and an existing cost center, so that costs
    can be split by both."""
    labels, where = _labels(resource), LABELLED[resource.kind]
    allowed = {"environment": [config.get("environment")], "cost-center": config.get("costCenters")}
    for label in LABELS:
        values = [value for value in allowed[label] or () if value is not None]
        if label not in labels:
            yield f"add the label {label} to {where}"
        elif values and labels[label] not in values:
            yield f"set {where}.{label} to {' or '.join(values)}: it is {labels[label]}"


@resource_rule(
    "muster-cost-allocation",
    CLUSTER,
    source="GKE, cost allocation",
    severity="low",
)
def cost_allocation(cluster: Resource) -> Iterator[str]:
    """A cluster's costs are split by namespace, and so by team."""
    if not pick(cluster.props, "costManagementConfig", "enabled"):
        yield "set costManagementConfig.enabled to true"
