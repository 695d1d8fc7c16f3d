"""Values of charts that cannot be rendered here; tests/stacks/test_charts.py renders the others.

KubeRay's and the GPU Operator's charts are in no Go module. Names are from their values.yaml.
"""

from components.operators import gpu_operator, kuberay
from components.operators.gpu_operator import GpuOperatorArgs
from settings.model.operators.gpus import GpuOperator
from settings.model.operators.kuberay import KubeRay

SYSTEM = {"cloud.google.com/gke-nodepool": "system"}
DIGEST = f"sha256:{'a' * 64}"


def test_values_of_kuberay_by_default() -> None:
    assert kuberay.values(KubeRay(), "muster", SYSTEM) == {
        "replicas": 1,
        "leaderElectionEnabled": True,
        "nodeSelector": SYSTEM,
        # Without these, no gang would start or stop for six minutes after its node is lost.
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
        # The chart's own cpu limit of 100m would be below the request.
        "resources": {
            "requests": {"cpu": "250m", "memory": "512Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
        "reconcileConcurrency": 10,
        "kubeClient": {"qps": 100, "burst": 200},
        "batchScheduler": {"name": ""},
        "metrics": {"enabled": True, "serviceMonitor": {"enabled": False}},
    }


def test_values_of_kuberay_with_every_setting() -> None:
    settings = KubeRay.model_validate(
        {
            "image": f"registry.example:5000/kuberay/operator:v1.6.2@{DIGEST}",
            "replicas": 2,
            "client": {"qps": 300, "burst": 500},
            "reconcileConcurrency": 20,
            "featureGates": {"RayCronJob": True},
            "watchNamespaces": ("team-a", "team-b"),
        }
    )
    values = kuberay.values(settings, "kai", SYSTEM)

    assert values["image"] == {
        "repository": "registry.example:5000/kuberay/operator",
        "tag": f"v1.6.2@{DIGEST}",
    }
    assert (values["replicas"], values["reconcileConcurrency"]) == (2, 20)
    assert values["kubeClient"] == {"qps": 300, "burst": 500}
    assert values["featureGates"] == [{"name": "RayCronJob", "enabled": True}]
    assert values["watchNamespace"] == ["team-a", "team-b"]


BY_REQUEST = {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}


def test_containers_get_the_gpus_that_they_request() -> None:
    """KAI names the GPUs of pods that share one in their environment."""
    settings = GpuOperator.model_validate({"install": "helm"})
    for is_kai in (False, True):
        env = gpu_operator.values(GpuOperatorArgs(settings, SYSTEM, is_kai))["toolkit"]["env"]
        assert (BY_REQUEST in env) is not is_kai


def test_values_of_the_gpu_operator() -> None:
    settings = GpuOperator.model_validate({"install": "helm", "migStrategy": "mixed", "dcgmExporter": False})

    assert gpu_operator.values(GpuOperatorArgs(settings, SYSTEM)) == {
        "driver": {"enabled": False},
        "hostPaths": {"driverInstallDir": "/home/kubernetes/bin/nvidia"},
        "toolkit": {
            "installDir": "/home/kubernetes/bin/nvidia",
            "env": [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}, BY_REQUEST],
        },
        "cdi": {"enabled": True},
        "mig": {"strategy": "mixed"},
        "migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]},
        "dcgmExporter": {"enabled": False},
        "operator": {"nodeSelector": SYSTEM, "upgradeCRD": True},
        "node-feature-discovery": {"master": {"nodeSelector": SYSTEM}, "gc": {"nodeSelector": SYSTEM}},
    }
