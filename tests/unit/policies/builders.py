"""Valid resources to change, and the type of a case."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.rule import Resource, ResourceRule, StackRule

# The sentinel that pulumi_policy puts in the place of a text that is only known after `up`.
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

CLUSTER: dict[str, Any] = {
    "authenticatorGroupsConfig": {"securityGroup": "gke-security-groups@acme.example"},
    "binaryAuthorization": {"evaluationMode": "PROJECT_SINGLETON_POLICY_ENFORCE"},
    "databaseEncryption": {"state": "ENCRYPTED", "keyName": "projects/acme/…/cryptoKeys/secrets"},
    "network": "ray",
    "securityPostureConfig": {"mode": "BASIC"},
    "addonsConfig": {"rayOperatorConfigs": [{"enabled": False}]},
    "controlPlaneEndpointsConfig": {"ipEndpointsConfig": {"enabled": False}},
    "costManagementConfig": {"enabled": True},
    "datapathProvider": "ADVANCED_DATAPATH",
    "enableIntranodeVisibility": True,
    "ipAllocationPolicy": {},
    "privateClusterConfig": {"enablePrivateNodes": True},
    "rbacBindingConfig": {
        "enableInsecureBindingSystemAuthenticated": False,
        "enableInsecureBindingSystemUnauthenticated": False,
    },
    "releaseChannel": {"channel": "REGULAR"},
    "removeDefaultNodePool": True,
    "resourceLabels": {"environment": "prod", "cost-center": "ml-platform"},
    "workloadIdentityConfig": {"workloadPool": "acme.svc.id.goog"},
}
DISK_KEY = "projects/acme/locations/us-west1/keyRings/gke/cryptoKeys/disks"
NODE_CONFIG: dict[str, Any] = {
    "bootDiskKmsKey": DISK_KEY,
    "machineType": "e2-standard-4",
    "serviceAccount": "nodes@acme.iam.gserviceaccount.com",
    "shieldedInstanceConfig": {"enableSecureBoot": True},
    "workloadMetadataConfig": {"mode": "GKE_METADATA"},
}
L4 = {"type": "nvidia-l4", "count": 1}
QUEUED = {"enabled": True}


class Case(NamedTuple):
    """A stack and all messages of the rule about it, as `resource: message`; none if it passes.

    config: the rule's properties in the environment's configuration.
    """

    rule: ResourceRule | StackRule
    name: str
    resources: list[Resource]
    messages: tuple[str, ...] = ()
    config: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return f"{self.rule.id}: {self.name}"


def passes(
    rule: ResourceRule | StackRule, name: str, *resources: Resource, config: Mapping[str, Any] = {}
) -> Case:
    return Case(rule, name, list(resources), config=config)


def fails(
    rule: ResourceRule | StackRule,
    name: str,
    resources: Resource | list[Resource],
    *messages: str,
    config: Mapping[str, Any] = {},
) -> Case:
    return Case(rule, name, resources if isinstance(resources, list) else [resources], messages, config)


def resource(type: str, name: str, properties: dict[str, Any], protect: bool = False) -> Resource:
    """Returns a resource without properties that are None."""
    set_properties = {key: value for key, value in properties.items() if value is not None}
    return Resource(type, name, set_properties, protect, urn=f"urn:pulumi:prod::muster::{type}::{name}")


def cluster(protect: bool = True, **changes: Any) -> Resource:
    return resource("gcp:container/cluster:Cluster", "ray", {**CLUSTER, **changes}, protect)


def auto_provisioning(**defaults: Any) -> Resource:
    """Returns a cluster with node auto-provisioning and these defaults."""
    return cluster(clusterAutoscaling={"enabled": True, "autoProvisioningDefaults": defaults})


NODES_ACCOUNT = "nodes@acme.iam.gserviceaccount.com"


def account(id: str = "nodes", project: str = "acme") -> Resource:
    return resource("gcp:serviceaccount/account:Account", id, {"accountId": id, "project": project})


def pool(name: str = "system", config: dict[str, Any] | None = None, **changes: Any) -> Resource:
    """Returns a pool; `config` changes its nodeConfig, where None removes a key."""
    merged = {key: value for key, value in {**NODE_CONFIG, **(config or {})}.items() if value is not None}
    good = {
        "name": name,
        "location": "us-west1-b",
        "nodeConfig": merged,
        "management": {"autoRepair": True, "autoUpgrade": True},
        "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3},
    }
    return resource("gcp:container/nodePool:NodePool", name, {**good, **changes})


def l4_pool(name: str = "l4", **changes: Any) -> Resource:
    """Returns a queued pool of four L4s."""
    queued = {
        "queuedProvisioning": QUEUED,
        "management": None,
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": 4},
    }
    return pool(name, {"machineType": "g2-standard-4", "guestAccelerators": [L4]}, **{**queued, **changes})


def kubernetes(kind: str, name: str, *, labels: dict[str, str] | None = None, **properties: Any) -> Resource:
    """Returns an object of `kind`, such as `apps/v1:Deployment`, by default in the namespace team-a."""
    namespace = properties.pop("namespace", "team-a")
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    set_metadata = {key: value for key, value in metadata.items() if value is not None}
    return resource(f"kubernetes:{kind}", name, {"metadata": set_metadata, **properties})


def namespace(name: str = "team-a", level: str | None = "baseline", **muster: str) -> Resource:
    """Returns a namespace with this Pod Security level and labels of muster.dev."""
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    labels |= {f"muster.dev/{key.replace('_', '-')}": value for key, value in muster.items()}
    return kubernetes("core/v1:Namespace", name, namespace=None, labels=labels or None)


def release(**changes: Any) -> Resource:
    good = {"chart": "kuberay-operator", "version": "1.6.2", "namespace": "kuberay-system"}
    return resource("kubernetes:helm.sh/v3:Release", "kuberay-operator", {**good, **changes})


DIGEST = "@sha256:" + "0" * 64


def pod(*images: str, seccomp: str | None = "RuntimeDefault") -> dict[str, Any]:
    """Returns a pod spec with one container per image."""
    context = {"securityContext": {"seccompProfile": {"type": seccomp}}} if seccomp else {}
    return {**context, "containers": [{"image": image} for image in images]}


def deployment(*images: str, seccomp: str | None = "RuntimeDefault", name: str = "app") -> Resource:
    template = {"template": {"spec": pod(*images or (f"app:1.2{DIGEST}",), seccomp=seccomp)}}
    return kubernetes("apps/v1:Deployment", name, spec=template)


def ray_cluster(head: dict[str, Any], workers: dict[str, Any]) -> Resource:
    """Returns a RayCluster with these pod specs."""
    groups = {
        "headGroupSpec": {"template": {"spec": head}},
        "workerGroupSpecs": [{"template": {"spec": workers}}],
    }
    return kubernetes("ray.io/v1:RayCluster", "ray", spec=groups)


def kueue(kind: str, name: str, spec: dict[str, Any]) -> Resource:
    return kubernetes(f"kueue.x-k8s.io/v1beta2:{kind}", name, namespace=None, spec=spec)


def flavor(name: str = "l4", **labels: str) -> Resource:
    """Returns a flavor of the pool of its name, or of nodes with these labels (of cloud.google.com/)."""
    selector = {f"cloud.google.com/{key.replace('_', '-')}": value for key, value in labels.items()}
    return kueue("ResourceFlavor", name, {"nodeLabels": selector or {"cloud.google.com/gke-nodepool": name}})


def check(name: str = "queued", controller: str = "kueue.x-k8s.io/provisioning-request") -> Resource:
    return kueue("AdmissionCheck", name, {"controllerName": controller})


def queue(
    name: str = "team-a",
    gpus: object = "4",
    checks: list[dict[str, Any]] | None = None,
    kind: str = "ClusterQueue",
) -> Resource:
    """Returns a queue with quota of GPUs in flavor l4; `checks` as in admissionChecksStrategy."""
    quota = {"name": "nvidia.com/gpu", **({} if gpus is None else {"nominalQuota": gpus})}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "l4", "resources": [quota]}]}
    strategy = {} if checks is None else {"admissionChecksStrategy": {"admissionChecks": checks}}
    return kueue(kind, name, {"resourceGroups": [group], **strategy})
