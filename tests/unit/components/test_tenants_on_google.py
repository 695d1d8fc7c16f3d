"""A tenant's Google Cloud resources: its identity, its bucket for checkpoints, its Gateway."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD, put

TEAM_A: dict[str, Any] = GOOD["muster:tenants"][0]
BUCKET = "acme-ml-team-a-checkpoints"
IAP = {"members": ["group:ml@example.com"]}
SERVING: dict[str, Any] = {"hosts": {"models.example.com": "vllm", "chat.example.com": "vllm"}, "iap": IAP}
ADDRESS = "ray-team-a-serving-8fed07"
EMAIL = "ray-team-a-ray-167271@acme-ml.iam.gserviceaccount.com"


def tenant(**settings: Any) -> Declarations:
    return declare_platform(put("muster:tenants", 0, {**TEAM_A, **settings}))


def checkpoints(**settings: Any) -> Declarations:
    return tenant(identity={}, checkpoints={"bucket": BUCKET, **settings})


def test_an_identity_can_be_used_by_its_pods_only() -> None:
    declared = tenant(identity={})
    assert declared.inputs("Account/team-a-ray")["accountId"] == EMAIL.partition("@")[0]
    impersonation = declared["IAMMember/team-a-ray-pods"]
    assert impersonation.inputs["role"] == "roles/iam.workloadIdentityUser"
    assert impersonation.inputs["member"] == "serviceAccount:acme-ml.svc.id.goog[team-a/ray]"
    assert impersonation.depends_on >= {"Account/team-a-ray"}
    account = declared["ServiceAccount/team-a/ray"]
    assert account.inputs["metadata"]["annotations"] == {"iam.gke.io/gcp-service-account": EMAIL}
    assert account.inputs["automountServiceAccountToken"] is False
    assert account.depends_on >= {"IAMMember/team-a-ray-pods", "Namespace/team-a"}


def test_names_of_an_identity_can_be_set() -> None:
    declared = tenant(identity={"serviceAccount": "trainer", "account": "team-a-trainer"})
    assert declared.inputs("Account/team-a-ray")["accountId"] == "team-a-trainer"
    assert "ServiceAccount/team-a/trainer" in declared


def test_the_bucket_is_private_and_soft_deletes() -> None:
    declared = checkpoints()
    bucket = declared[f"Bucket/{BUCKET}"]
    assert bucket.inputs == {
        "name": BUCKET,
        "project": "acme-ml",
        "location": "US-WEST1",
        "uniformBucketLevelAccess": True,
        "publicAccessPrevention": "enforced",
        "hierarchicalNamespace": {"enabled": True},
        "softDeletePolicy": {"retentionDurationSeconds": 7 * 24 * 3600},
        "labels": {"tenant": "team-a"},
        "forceDestroy": False,
    }
    assert bucket.protect
    assert bucket.provider == "gcp/google"


def test_a_buckets_location_and_lifecycle_can_be_set() -> None:
    inputs = checkpoints(location="eu", softDeleteDays=0, deleteAfterDays=30).inputs(f"Bucket/{BUCKET}")
    assert inputs["location"] == "EU"
    assert inputs["softDeletePolicy"] == {"retentionDurationSeconds": 0}
    assert inputs["lifecycleRules"] == [{"action": {"type": "Delete"}, "condition": {"age": 30}}]


def test_the_bucket_is_unprotected_where_the_cluster_is() -> None:
    config = put("muster:tenants", 0, {**TEAM_A, "identity": {}, "checkpoints": {"bucket": BUCKET}})
    config["muster:cluster"] = {**config["muster:cluster"], "deletionProtection": False}
    assert not declare_platform(config)[f"Bucket/{BUCKET}"].protect


def test_the_identity_may_only_read_and_write_objects() -> None:
    declared = checkpoints()
    roles = declared.kinds("BucketIAMMember", "BucketIAMBinding", "BucketIAMPolicy")
    assert roles == ["BucketIAMMember/team-a-checkpoints"]
    access = declared.inputs(roles[0])
    assert (access["role"], access["member"]) == ("roles/storage.objectUser", f"serviceAccount:{EMAIL}")


def test_the_volume_is_bound_to_the_tenants_claim() -> None:
    declared = checkpoints()
    volume = declared["PersistentVolume/team-a-checkpoints"]
    spec = volume.inputs["spec"]
    assert spec["csi"] == {"driver": "gcsfuse.csi.storage.gke.io", "volumeHandle": BUCKET}
    assert spec["claimRef"] == {"namespace": "team-a", "name": "checkpoints"}
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["mountOptions"] == ["uid=1000", "gid=100"]  # rayproject's images
    assert volume.ignore_changes == ("spec.claimRef",)
    assert volume.depends_on >= {"BucketIAMMember/team-a-checkpoints"}
    claim = declared["PersistentVolumeClaim/team-a/checkpoints"]
    assert claim.inputs["spec"]["volumeName"] == "team-a-checkpoints"
    assert claim.inputs["spec"]["accessModes"] == spec["accessModes"] == ["ReadWriteMany"]
    assert claim.depends_on >= {"PersistentVolume/team-a-checkpoints"}


def test_storage_is_in_addition_to_the_buckets_claim() -> None:
    declared = tenant(identity={}, checkpoints={"bucket": BUCKET}, storage="1Gi")
    claim = declared.inputs("PersistentVolumeClaim/team-a/checkpoints")["spec"]["resources"]["requests"]
    assert claim == {"storage": "1Ti"}
    hard = declared.spec("ResourceQuota/team-a/team-quota")["hard"]
    assert hard["requests.storage"] == str(1024**4 + 1024**3)


def test_the_gateway_serves_https_for_its_own_namespace() -> None:
    declared = tenant(serving=SERVING)
    gateway = declared["Gateway/team-a/serving"]
    assert gateway.inputs["metadata"]["annotations"] == {"networking.gke.io/certmap": ADDRESS}
    assert gateway.inputs["spec"] == {
        "gatewayClassName": "gke-l7-global-external-managed",
        "addresses": [{"type": "NamedAddress", "value": ADDRESS}],
        "listeners": [
            {
                "name": "https",
                "protocol": "HTTPS",
                "port": 443,
                "allowedRoutes": {"namespaces": {"from": "Same"}},
            }
        ],
    }
    assert gateway.depends_on >= {"Namespace/team-a"}


def test_a_route_depends_on_its_iap_policy() -> None:
    declared = tenant(serving=SERVING)
    target = {"group": "", "kind": "Service", "name": "vllm-serve-svc"}
    assert declared.kinds("GCPBackendPolicy", "HealthCheckPolicy") == [
        "GCPBackendPolicy/team-a/vllm",
        "HealthCheckPolicy/team-a/vllm",
    ]
    assert declared.spec("GCPBackendPolicy/team-a/vllm") == {
        "default": {"iap": {"enabled": True}, "timeoutSec": 300},
        "targetRef": target,
    }
    assert declared.spec("HealthCheckPolicy/team-a/vllm") == {
        "default": {
            "config": {"type": "HTTP", "httpHealthCheck": {"port": 8000, "requestPath": "/-/healthz"}}
        },
        "targetRef": target,
    }
    for host in SERVING["hosts"]:
        route = declared[f"HTTPRoute/team-a/{host}"]
        assert route.inputs["spec"] == {
            "parentRefs": [{"name": "serving"}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": "vllm-serve-svc", "port": 8000}]}],
        }
        assert route.depends_on >= {"GCPBackendPolicy/team-a/vllm", "Gateway/team-a/serving"}


def test_an_oauth_client_can_be_set() -> None:
    client = {"id": "1-a.apps.googleusercontent.com", "secretName": "oauth"}
    declared = tenant(serving={**SERVING, "iap": {**IAP, "oauthClient": client}})
    assert declared.spec("GCPBackendPolicy/team-a/vllm")["default"]["iap"] == {
        "enabled": True,
        "clientID": client["id"],
        "oauth2ClientSecret": {"name": "oauth"},
    }


def test_members_have_access_to_these_hosts_only() -> None:
    member = tenant(serving=SERVING).inputs("WebIamMember/team-a-serving-group:ml@example.com")
    assert (member["role"], member["member"]) == ("roles/iap.httpsResourceAccessor", "group:ml@example.com")
    assert member["condition"]["expression"] == (
        'request.host == "models.example.com" || request.host == "chat.example.com"'
    )


def test_each_host_gets_a_certificate_unless_a_map_is_set() -> None:
    declared = tenant(serving=SERVING)
    assert declared.kinds("Certificate") == [
        "Certificate/team-a-chat-example-com",
        "Certificate/team-a-models-example-com",
    ]
    entry = declared["CertificateMapEntry/team-a-models-example-com"]
    assert entry.inputs["hostname"] == "models.example.com"
    assert entry.depends_on >= {"Certificate/team-a-models-example-com", "CertificateMap/team-a-serving"}

    args = tenant(serving={**SERVING, "certificateMap": "wildcard"})
    assert not args.kinds("Certificate", "CertificateMap", "CertificateMapEntry")
    annotations = args.inputs("Gateway/team-a/serving")["metadata"]["annotations"]
    assert annotations == {"networking.gke.io/certmap": "wildcard"}


@pytest.mark.parametrize("kind", ["Account", "Bucket", "Gateway", "GlobalAddress", "PersistentVolume"])
def test_google_resources_are_declared_only_if_set(kind: str) -> None:
    declared = declare_platform(GOOD)
    assert not [name for name in declared.kinds(kind) if "team-a" in name]
