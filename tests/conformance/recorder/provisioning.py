"""ProvisioningRequests: the places of the tests of Kueue's controller for them."""

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FILE = "pkg/controller/admissionchecks/provisioning/controller_test.go"
PROBES = ", ".join(
    f'&{kind}{{ObjectMeta: metav1.ObjectMeta{{Namespace: TestNamespace, Name: "probe"}}}}'
    for kind in ("corev1.PodTemplate", "autoscaling.ProvisioningRequest")
)


def _reconciled(parts: Parts) -> Parts:
    expect = parts["expect"]
    expect["events"] = list(map(neutral.event, expect["events"] or ()))
    return parts


PLACES = (
    Place(
        FILE,
        "TestReconcile",
        gates="tc.featureGates",
        now="now",
        config={"createErrors": f"musterrecorder.CreationErrors(k8sclient, {PROBES})"},
        input={
            "workload": "tc.workload",
            "admissionChecks": "tc.checks",
            "provisioningRequestConfigs": "tc.configs",
            "provisioningRequests": "tc.requests",
            "podTemplates": "tc.templates",
            "resourceFlavors": "tc.flavors",
        },
        expect={
            "reconcileError": "tc.wantReconcileError",
            "workloads": "tc.wantWorkloads",
            "provisioningRequests": "tc.wantRequests",
            "podTemplates": "tc.wantTemplates",
            "provisioningRequestsNotFound": "tc.wantRequestsNotFound",
            "events": "tc.wantEvents",
        },
        convert=_reconciled,
    ),
    Place(
        FILE,
        "TestReqIsNeeded",
        input={"workload": "tc.workload", "provisioningRequestConfig": "prc"},
        expect={"needed": "tc.want", "error": "tc.wantErr"},
    ),
)
