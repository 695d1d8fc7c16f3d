"""KubeRay's operator in a pod, from the manifests of its pinned Go module."""

import shutil
from pathlib import Path

import yaml

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.operators import FEATURE_GATES
from settings.manifests.lost_nodes import lost_node_tolerations
from settings.model.operators.kuberay import KubeRay
from settings.model.operators.namespaces import KUBERAY
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.tools import TOOLS

MODULE = "github.com/ray-project/kuberay/ray-operator"
DEPLOYMENT = "kuberay-operator"
_FOLDERS = ("rbac", "manager")


def deploy_kuberay(kubectl: Kubectl, folder: Path, settings: KubeRay, batch_scheduler: str = "") -> None:
    """Deploys the operator with its own ServiceAccount and RBAC, and with the resources, the concurrency and
    the tolerations that the platform's chart gets; `folder` receives its manifests.

    `batch_scheduler` places Ray's pods; empty for the Kubernetes scheduler.
    """
    module = module_directory(find_go(), "kuberay", MODULE)
    shutil.rmtree(folder, ignore_errors=True)
    for name in _FOLDERS:
        shutil.copytree(module / "config" / name, folder / name, copy_function=shutil.copyfile)
    folder.joinpath("kustomization.yaml").write_text(yaml.safe_dump(_overlay(settings, batch_scheduler)))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUBERAY, "labels": labels}}
    kubectl.create([namespace])
    kubectl.run("apply", "--server-side", "-k", str(folder))


def _overlay(settings: KubeRay, batch_scheduler: str) -> dict[str, object]:
    container = "/spec/template/spec/containers/0"
    flags = [f"--reconcile-concurrency={settings.reconcile_concurrency}", FEATURE_GATES]
    flags += [f"--batch-scheduler={batch_scheduler}"] if batch_scheduler else []
    # The chart's label, by which NetworkPolicies of tenants let the operator reach heads.
    labels = ("selector/matchLabels", "template/metadata/labels")
    name = "app.kubernetes.io~1name"
    patch = [
        *({"op": "replace", "path": f"/spec/{of}/{name}", "value": DEPLOYMENT} for of in labels),
        *({"op": "add", "path": f"{container}/args/-", "value": flag} for flag in flags),
        {"op": "replace", "path": f"{container}/resources", "value": settings.resources.model_dump()},
        {"op": "add", "path": "/spec/template/spec/tolerations", "value": lost_node_tolerations()},
    ]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": KUBERAY,
        "resources": list(_FOLDERS),
        "images": [{"name": "kuberay/operator", "newTag": TOOLS["ray-operator"].version}],
        "patches": [{"target": {"kind": "Deployment", "name": DEPLOYMENT}, "patch": yaml.safe_dump(patch)}],
    }
