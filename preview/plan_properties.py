"""Describes a resource for reviewers: its short kind, and the few properties that matter."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from preview.resources.values import UNKNOWN

NOT_KNOWN = "(known later)"

# By short kind.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "artifactregistry.Repository": ("location", "format", "repositoryId"),
    "compute.Firewall": ("direction", "sourceRanges", "allows", "denies"),
    "compute.Network": ("autoCreateSubnetworks", "networkProfile", "mtu"),
    "compute.RouterNat": ("region", "natIpAllocateOption", "sourceSubnetworkIpRangesToNat"),
    "compute.Subnetwork": ("region", "ipCidrRange", "secondaryIpRanges", "privateIpGoogleAccess"),
    "container.Cluster": (
        "location",
        "minMasterVersion",
        "releaseChannel.channel",
        "network",
        "subnetwork",
        "privateClusterConfig",
        "datapathProvider",
        "databaseEncryption.state",
        "binaryAuthorization.evaluationMode",
        "deletionProtection",
    ),
    "container.NodePool": (
        "nodeConfig.machineType",
        "nodeConfig.guestAccelerators",
        "queuedProvisioning.enabled",
        "nodeConfig.flexStart",
        "nodeConfig.spot",
        "nodeConfig.reservationAffinity",
        "autoscaling",
        "management.autoRepair",
        "initialNodeCount",
        "nodeLocations",
        "placementPolicy",
        "nodeConfig.taints",
    ),
    "docker-build.Image": ("push", "platforms"),
    "logging.ProjectBucketConfig": ("location", "retentionDays"),
    "logging.ProjectSink": ("destination",),
    "monitoring.AlertPolicy": ("displayName", "enabled"),
    "projects.Service": ("service",),
    "serviceaccount.Account": ("accountId",),
    "storage.Bucket": ("location", "uniformBucketLevelAccess", "versioning.enabled", "forceDestroy"),
    "AdmissionCheck": ("spec.controllerName", "spec.parameters"),
    "ClusterRoleBinding": ("roleRef.name", "subjects"),
    "Cohort": ("spec.parentName",),
    "ConfigGroup": ("files",),
    "Deployment": ("spec.replicas", "spec.template.spec.containers.image"),
    "Ingress": ("spec.rules",),
    "LocalQueue": ("spec.clusterQueue",),
    "Namespace": ("metadata.labels",),
    "NetworkPolicy": ("spec.policyTypes", "spec.podSelector"),
    "PodDisruptionBudget": ("spec.minAvailable", "spec.maxUnavailable"),
    "ProvisioningRequestConfig": ("spec.provisioningClassName", "spec.parameters", "spec.managedResources"),
    "Queue": ("spec.parentQueue", "spec.resources"),
    "Release": ("chart", "version", "namespace"),
    "ResourceFlavor": ("spec.nodeLabels", "spec.nodeTaints", "spec.topologyName"),
    "ResourceQuota": ("spec.hard",),
    "RoleBinding": ("roleRef.name", "subjects"),
    "ServiceAccount": ("metadata.annotations",),
    "ValidatingAdmissionPolicyBinding": ("spec.validationActions",),
    "WorkloadPriorityClass": ("value",),
}


def short_kind(token: str) -> str:
    """Shortens a type: `container.NodePool` (GCP), `Namespace` (Kubernetes), `provider gcp` (a provider)."""
    package, _, module_and_kind = token.partition(":")
    module, _, kind = module_and_kind.rpartition(":")
    if module == "providers":
        return f"provider {kind}"
    if package == "gcp":
        return f"{module.partition('/')[0]}.{kind}"
    return f"{package}.{kind}" if package == "docker-build" else kind


def described(token: str, inputs: Mapping[str, Any]) -> str:
    """Returns the shown properties that are set, as `name=value`."""
    kind = short_kind(token)
    paths = _SHOWN.get(kind, ("role", "member") if kind.endswith(("IAMMember", "IamMember")) else ())
    values = ((_label(path), _at(inputs, path.split("."))) for path in paths)
    words = [f"{name}={plain(value)}" for name, value in values if value not in (None, [], {})]
    special = _SPECIAL.get(kind)
    return " ".join([*words, *(special(inputs) if special else ())])


def _label(path: str) -> str:
    """Returns the last part of a path, or the last two if the last alone is ambiguous."""
    *_, last = parts = path.split(".")
    return ".".join(parts[-2:]) if last in ("enabled", "name", "state") else last


def plain(value: Any) -> str:
    """Formats a value on one line, in YAML's flow style."""
    match value:
        case str():
            return NOT_KNOWN if UNKNOWN in value else " ".join(value.split("\n"))
        case Mapping():
            return "{" + ", ".join(f"{key}: {plain(value[key])}" for key in sorted(value)) + "}"
        case list():
            return "[" + ", ".join(plain(item) for item in value) + "]"
    return json.dumps(value)


def _at(value: Any, path: list[str]) -> Any:
    """Returns the value at a path; for a list, the value in each entry."""
    if not path or value is None:
        return value
    if isinstance(value, list):
        items = [_at(item, path) for item in value]
        return items[0] if len(items) == 1 else items
    return _at(value.get(path[0]), path[1:]) if isinstance(value, Mapping) else value


def _quotas(inputs: Mapping[str, Any]) -> list[str]:
    """Returns one word per flavor: `l4(cpu 20, nvidia.com/gpu 5)`, `+` borrowing and `-` lending limit."""
    spec = inputs.get("spec", {})
    words = [f"cohort={spec['cohortName']}"] if spec.get("cohortName") else []
    for group in spec.get("resourceGroups", ()):
        for flavor in group["flavors"]:
            amounts = ", ".join(_amount(resource) for resource in flavor["resources"])
            words.append(f"{flavor['name']}({amounts})")
    return words


def _amount(resource: Mapping[str, Any]) -> str:
    limits = [
        f"{sign}{resource[limit]}"
        for sign, limit in (("+", "borrowingLimit"), ("-", "lendingLimit"))
        if limit in resource
    ]
    return " ".join([resource["name"], str(resource["nominalQuota"]), *limits])


def _images(inputs: Mapping[str, Any]) -> list[str]:
    """Returns the repositories of an image; its tags are hashes, which do not help reviewers."""
    return sorted({str(tag).partition("@")[0].rpartition(":")[0] for tag in inputs.get("tags", ())})


_SPECIAL: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "ClusterQueue": _quotas,
    "Cohort": _quotas,
    "docker-build.Image": _images,
}
