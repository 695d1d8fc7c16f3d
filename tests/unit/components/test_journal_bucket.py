"""The controller's journal: its bucket, the identity that writes it, and its volume in the pods."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, put

CONTROLLER = "muster-controller"
BUCKET = "acme-ml-journal"
EMAIL = "ray-muster-6427da@acme-ml.iam.gserviceaccount.com"
FUSE = "gke-gcsfuse/volumes"


def with_journal(**journal: Any) -> Declarations:
    return declare_platform(put("muster:controller", "journal", journal))


def pod(declared: Declarations) -> dict[str, Any]:
    template: dict[str, Any] = declared.spec(f"Deployment/{CONTROLLER}")["template"]
    return template


def test_journals_bucket_is_private_and_keeps_one_version() -> None:
    bucket = with_journal(bucket=BUCKET)["Bucket/journal"]
    assert bucket.inputs == {
        "name": BUCKET,
        "project": "acme-ml",
        "location": "US-WEST1",
        "uniformBucketLevelAccess": True,
        "publicAccessPrevention": "enforced",
        "softDeletePolicy": {"retentionDurationSeconds": 0},
        "lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 400}}],
        "labels": {},
        "forceDestroy": False,
    }
    assert bucket.protect


def test_journals_files_may_be_kept_forever() -> None:
    declared = with_journal(bucket=BUCKET, deleteAfterDays=None)
    assert "lifecycleRules" not in declared.inputs("Bucket/journal")


@pytest.mark.parametrize("key", ["bucket", "existingBucket"])
def test_controllers_pods_may_only_write_objects_of_the_bucket(key: str) -> None:
    declared = with_journal(**{key: BUCKET})
    access = declared.inputs("BucketIAMMember/journal")
    assert (access["bucket"], access["role"]) == (BUCKET, "roles/storage.objectUser")
    assert access["member"] == f"serviceAccount:{EMAIL}"
    impersonation = declared.inputs("IAMMember/journal-pods")
    assert impersonation["role"] == "roles/iam.workloadIdentityUser"
    assert impersonation["member"] == f"serviceAccount:acme-ml.svc.id.goog[muster-system/{CONTROLLER}]"
    account = declared.inputs(f"ServiceAccount/{CONTROLLER}")["metadata"]
    assert account["annotations"] == {"iam.gke.io/gcp-service-account": EMAIL}
    assert declared[f"Deployment/{CONTROLLER}"].depends_on >= {"BucketIAMMember/journal"}


def test_bucket_that_exists_is_not_created() -> None:
    assert "Bucket/journal" not in with_journal(existingBucket=BUCKET)


def test_bucket_is_mounted_for_the_controllers_user() -> None:
    template = pod(with_journal(bucket=BUCKET))
    assert template["metadata"]["annotations"] == {FUSE: "true"}
    (volume,) = template["spec"]["volumes"]
    assert volume["csi"] == {
        "driver": "gcsfuse.csi.storage.gke.io",
        "volumeAttributes": {
            "bucketName": BUCKET,
            "mountOptions": "uid=65532,gid=65532",
            "skipCSIBucketAccessCheck": "true",
        },
    }
    (container,) = template["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": volume["name"], "mountPath": "/journal"}]
    assert "--journal=/journal/ray" in container["args"]


def test_container_that_mounts_the_bucket_reaches_google_cloud() -> None:
    policy = with_journal(bucket=BUCKET).spec(f"NetworkPolicy/{CONTROLLER}")
    ports = {
        (rule_port["protocol"], rule_port["port"]) for rule in policy["egress"] for rule_port in rule["ports"]
    }
    assert ports >= {("TCP", 443), ("UDP", 53), ("TCP", 53), ("TCP", 80), ("TCP", 988)}
    anywhere = [rule for rule in policy["egress"] if "to" not in rule]
    assert [[port["port"] for port in rule["ports"]] for rule in anywhere] == [[443, 6443]]


def test_journal_of_another_cluster_is_in_a_folder_of_the_pod() -> None:
    config = put("muster:controller", "journal", {})
    template = pod(declare_platform({**config, "muster:cluster": EXISTING}))
    assert template["spec"]["volumes"] == [{"name": "journal", "emptyDir": {}}]
    assert "--journal=/journal/sandbox" in template["spec"]["containers"][0]["args"]
    assert "annotations" not in template["metadata"]


def test_nothing_is_mounted_without_a_journal() -> None:
    declared = declare_platform(GOOD)
    template = pod(declared)
    assert "volumes" not in template["spec"]
    assert "annotations" not in template["metadata"]
    assert declared.kinds("Bucket") == []
