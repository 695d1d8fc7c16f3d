"""Cases of the rules of queues and costs."""

from policies.rules import costs, queues
from tests.unit.policies.builders import (
    Case,
    check,
    cluster,
    fails,
    flavor,
    l4_pool,
    passes,
    pool,
    queue,
    resource,
)

ON_L4 = [{"name": "queued", "onFlavors": ["l4"]}]
ADD_CHECK = (
    "team-a: add an AdmissionCheck of kueue.x-k8s.io/provisioning-request for flavor l4 to "
    "spec.admissionChecksStrategy: pool l4 is queued"
)
BUCKET = "gcp:storage/bucket:Bucket"
REPOSITORY = "gcp:artifactregistry/repository:Repository"

CASES: tuple[Case, ...] = (
    passes(
        queues.queued_pool_has_checked_flavor,
        "a check for the flavor",
        l4_pool(),
        flavor(),
        check(),
        queue(checks=ON_L4),
    ),
    passes(
        queues.queued_pool_has_checked_flavor,
        "a check for all flavors",
        l4_pool(),
        flavor(),
        check(),
        queue(checks=[{"name": "queued"}]),
    ),
    passes(
        queues.queued_pool_has_checked_flavor,
        "no queued pool",
        pool("l4"),
        flavor(),
        queue(),
    ),
    passes(
        queues.queued_pool_has_checked_flavor,
        "two slices, one flavor",
        l4_pool("slice-0"),
        l4_pool("slice-1"),
        flavor(gke_accelerator="nvidia-l4", gke_queued="true"),
        check(),
        queue(checks=ON_L4),
    ),
    passes(
        queues.queued_pool_has_checked_flavor,
        "a label that GKE derives from the machine",
        l4_pool(),
        flavor(gke_nodepool="l4", gke_tpu_topology="2x4"),
        check(),
        queue(checks=ON_L4),
    ),
    passes(queues.queued_pool_has_checked_flavor, "queues in another stack", l4_pool()),
    fails(
        queues.queued_pool_has_checked_flavor,
        "no flavor",
        [l4_pool(), flavor("other"), check(), queue(checks=ON_L4)],
        "l4: declare a ResourceFlavor with nodeLabels cloud.google.com/gke-nodepool: l4",
    ),
    fails(
        queues.queued_pool_has_checked_flavor,
        "no queue",
        [l4_pool(), flavor(), check()],
        "l4: give a ClusterQueue quota of flavor l4, or remove the pool",
    ),
    fails(
        queues.queued_pool_has_checked_flavor,
        "no check",
        [l4_pool(), flavor(), queue()],
        ADD_CHECK,
    ),
    fails(
        queues.queued_pool_has_checked_flavor,
        "a check for another flavor",
        [l4_pool(), flavor(), check(), queue(checks=[{"name": "queued", "onFlavors": ["cpu"]}])],
        ADD_CHECK,
    ),
    fails(
        queues.queued_pool_has_checked_flavor,
        "a check of another controller",
        [l4_pool(), flavor(), check(controller="kueue.x-k8s.io/multikueue"), queue(checks=ON_L4)],
        ADD_CHECK,
    ),
    passes(queues.quota_is_finite, "as many as the pool has", l4_pool(), flavor(), queue(gpus=4)),
    passes(
        queues.quota_is_finite,
        "nodes in two zones",
        l4_pool(nodeLocations=["us-west1-a", "us-west1-b"]),
        flavor(),
        queue(gpus="8"),
    ),
    passes(
        queues.quota_is_finite,
        "pools whose GPUs can't be counted: in all zones of a region, or partitioned",
        l4_pool(location="us-west1"),
        flavor(),
        queue(gpus="99"),
    ),
    passes(queues.quota_is_finite, "no pools in this stack", flavor(), queue(gpus="99")),
    fails(
        queues.quota_is_finite,
        "none",
        queue(gpus=None),
        "team-a: set the nominalQuota of nvidia.com/gpu in flavor l4",
    ),
    fails(
        queues.quota_is_finite,
        "no number of GPUs",
        queue(gpus="1G"),
        "team-a: write the nominalQuota of nvidia.com/gpu in flavor l4 as a plain number",
    ),
    fails(
        queues.quota_is_finite,
        "more than there can be, a cohort's own included",
        [l4_pool(), flavor(), queue(gpus="4"), queue("ml", "1", kind="Cohort")],
        "ml: lower the quotas of nvidia.com/gpu in flavor l4, 5 in total, or raise the limits of l4, which "
        "can have 4",
    ),
    passes(
        costs.cost_labels,
        "all labelled",
        cluster(),
        resource(BUCKET, "logs", {"labels": {"environment": "prod", "cost-center": "ml", "more": "x"}}),
    ),
    fails(
        costs.cost_labels,
        "some missing",
        [
            cluster(resourceLabels={"environment": "prod"}),
            resource(BUCKET, "logs", {}),
            resource(REPOSITORY, "images", {"labels": {"cost-center": "ml"}}),
        ],
        "ray: add the label cost-center to resourceLabels",
        "logs: add the label environment to labels",
        "logs: add the label cost-center to labels",
        "images: add the label environment to labels",
    ),
    passes(costs.cost_allocation, "on", cluster()),
    fails(
        costs.cost_allocation,
        "off",
        cluster(costManagementConfig=None),
        "ray: set costManagementConfig.enabled to true",
    ),
)
