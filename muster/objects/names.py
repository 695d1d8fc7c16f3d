"""Names of Kueue's and Muster's APIs: groups, labels, annotations and finalizers.

Source of Kueue's: apis/kueue/v1beta2 and pkg/controller/constants at v0.19.2; of the cluster autoscaler's:
cluster-autoscaler/apis/provisioningrequest; of GKE's: the queued provisioning that GKE documents.
"""

KUEUE_GROUP, KUEUE_VERSION = "kueue.x-k8s.io", "v1beta2"
KUEUE_API = f"{KUEUE_GROUP}/{KUEUE_VERSION}"

# Labels of jobs and of the objects that Kueue's API derives from them.
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MIN_PARALLELISM_ANNOTATION = "kueue.x-k8s.io/job-min-parallelism"  # of a Job
MAX_EXEC_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
POD_SET_LABEL = "kueue.x-k8s.io/podset"  # of pods
RESOURCE_IN_USE = "kueue.x-k8s.io/resource-in-use"  # a finalizer

# Annotations of Workloads and jobs.
PROVREQ_ANNOTATION_PREFIX = "provreq.kueue.x-k8s.io/"
ELASTIC_ANNOTATION = "kueue.x-k8s.io/elastic-job"
ELASTIC_GATE = ELASTIC_ANNOTATION  # Kueue, apis/kueue/v1beta2: ElasticJobSchedulingGate
GATES_ANNOTATION = "kueue.x-k8s.io/admission-gated-by"
REPLACES_ANNOTATION = "kueue.x-k8s.io/workload-slice-replacement-for"
ALLOWED_FLAVORS_ANNOTATION = "kueue.x-k8s.io/workload-allowed-resource-flavors"
POD_GROUP_ANNOTATION = "kueue.x-k8s.io/is-group-workload"
BOOST_ANNOTATION = "kueue.x-k8s.io/priority-boost"

# Annotations of pod templates that request a topology.
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_TOPOLOGY = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
SLICE_TOPOLOGIES = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
POD_SET_GROUP = "kueue.x-k8s.io/podset-group-name"
PLACED_ANNOTATIONS = frozenset(
    (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY, UNCONSTRAINED_TOPOLOGY, SLICE_TOPOLOGY, SLICE_TOPOLOGIES)
)
"""Annotations of pods that an admission assigns to nodes and accounts for."""

# Controllers of AdmissionChecks.
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"

# Annotations of pods that use a ProvisioningRequest.
CONSUME_ANNOTATION = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_ANNOTATION = "autoscaling.x-k8s.io/provisioning-class-name"
QUEUED_PROVISIONING_CLASS = "queued-provisioning.gke.io"
# GKE labels a request's nodes; the label's value is this detail of the request's status.
REQUEST_LABEL, REQUEST_DETAIL = "autoscaling.gke.io/provisioning-request", "ResizeRequestName"

MUSTER_PREFIX = "muster.dev/"
POOL_LABEL = "muster.dev/pool"
"""Set by a stack on nodes of pools that are several node pools in GKE: the pool's name."""
TENANT_LABEL = "muster.dev/tenant"
"""Set by a stack on namespaces of tenants."""
QUEUE_REQUIRED_LABEL = "muster.dev/queue-required"
"""Set by a stack on namespaces whose Ray objects need a queue."""
CLAIMS_LABEL = "muster.dev/claims"
"""Set by a stack on namespaces whose ResourceClaims only administrators create."""
RAY_AUTH_LABEL = "muster.dev/ray-auth"
"""Set by a stack on namespaces whose Ray clusters require a token."""
SECRETS_LABEL = "muster.dev/secrets"
"""Set by a stack on namespaces with secrets of Secret Manager: the ServiceAccount whose pods mount them."""
STOP_ANNOTATION = "muster.dev/stop"
"""Set by users on a job: with "true" the job is stopped, releases its quota, and waits until the annotation
is removed."""
RETRY_ANNOTATION = "muster.dev/retry"
"""Set by users on a job: each new value ends the back-off of the job once."""
WAIT_ANNOTATION = "muster.dev/wait"
"""Set by the controller on a job: why the job waits, as JSON."""
ETA_ANNOTATION = "muster.dev/eta"
"""Set by the controller on a job: when it is expected to start, as JSON."""
GROWTH_ETA_ANNOTATION = "muster.dev/growth-eta"
"""Set by the controller on an autoscaled job: when its worker groups are expected to grow, as JSON."""
RETRIED = "muster.dev/retried"
"""Set by the controller on a Workload: the last value of the job's RETRY_ANNOTATION that took effect."""
SIZES_ANNOTATION = "muster.dev/sizes"
"""Set by the controller on the Workload of an autoscaled job: the sizes of its worker groups that the user
set, as JSON."""
SHRINKS_ANNOTATION = "muster.dev/shrinks-at"
"""Set by the controller on the head of an autoscaled gang whose workers are preempted: when their notice
ends."""
GROWTH_GATE = "muster.dev/growth"
"""A scheduling gate on workers of an autoscaled gang until the controller has granted their quota."""
GROWTH_LABEL = "muster.dev/growth-of"
"""Set by the controller on ProvisioningRequests for growth: the worker group."""
GROWTH_NUMBER = "muster.dev/growth-number"
"""Set by the controller on ProvisioningRequests for growth: the number of the request within its group."""
GROWTH_ATTEMPT = "muster.dev/growth-attempt"
"""Set by the controller on ProvisioningRequests for growth: the attempts since one was provisioned."""
WRITTEN_OUT = "muster.dev/written-out"
"""Set by the controller on pod templates that it adds to a job."""
RESIZE_MAXIMA = {"cpu": "muster.dev/max-cpu", "memory": "muster.dev/max-memory"}
"""Set by the controller on pod templates of an admitted job, by resource: the size up to which quota is
reserved for resizes of the first container in place."""
COUNT_ANNOTATION = "muster.dev/replicas"
"""Set at creation and by the controller on a queued LeaderWorkerSet: the groups that it has once it is
admitted."""
WORKLOAD_UID_LABEL = "muster.dev/workload-uid"
"""Set by the controller on pod templates of an admitted job."""
NODE_SIZES = "muster.dev/node-sizes"
"""Set by a stack on ResourceFlavors: the capacity of one node for pods of gangs, as JSON: a list of resources
with quantities, one for each kind of node of the flavor."""
BUDGETS = "muster.dev/budgets"
"""Set by a stack on ClusterQueues and Cohorts: their budgets, as a JSON list of translation/budgets.py."""
DEVICE_CLASSES = "muster.dev/device-classes"
"""Set by a stack on ClusterQueues: the resource whose quota counts devices of each DeviceClass, as JSON; an
empty one for classes without quota."""
RECORDED_USAGE = "muster.dev/recorded-usage"
"""Set by the controller on ClusterQueues with budgets: the usage of ended Workloads, as JSON."""
BUDGET_FORECAST = "muster.dev/budget-forecast"
"""Set by `muster serve` on ClusterQueues: when their budgets, and those of the cohorts above them, are
expected to be used up, as JSON."""
ANSWER_TIMEOUT_ANNOTATION = "muster.dev/answer-timeout-seconds"
CAPACITY_TIMEOUT_ANNOTATION = "muster.dev/capacity-timeout-seconds"
"""Set by operators on a ProvisioningRequestConfig: seconds until a request is accepted, and seconds from its
acceptance until it is provisioned (default: no limit)."""


def unqueued_label(kind: str, name: str) -> str:
    """Returns the label that a stack sets on namespaces of tenants to let pods of this object, such as the
    Deployment inference, use accelerators outside the queues."""
    return f"{kind.lower()}.unqueued.{MUSTER_PREFIX}{name}"
