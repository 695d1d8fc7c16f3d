"""KubeRay's operator in a pod, from the manifests of its pinned Go module."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from sandbox.cluster.kubectl import Kubectl
from settings.model.operators.namespaces import KUBERAY
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.tools import TOOLS

MODULE = "github.com/ray-project/kuberay/ray-operator"
DEPLOYMENT = "kuberay-operator"
_FOLDERS = ("rbac", "manager")


def deploy_kuberay(kubectl: Kubectl, folder: Path) -> None:
    """Deploys the operator with its own ServiceAccount and RBAC; `folder` receives its manifests."""
    module = module_directory(find_go(), "kuberay", MODULE)
    shutil.rmtree(folder, ignore_errors=True)
    for name in _FOLDERS:
        shutil.copytree(module / "config" / name, folder / name, copy_function=shutil.copyfile)
    folder.joinpath("kustomization.yaml").write_text(yaml.safe_dump(_overlay()))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUBERAY, "labels": labels}}
    kubectl.create([namespace])
    kubectl.run("apply", "--server-side", "-k", str(folder))


def _overlay() -> dict[str, object]:
    # The same concurrency as the operator of a sandbox without real nodes.
    arguments = [
        {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": argument}
        for argument in ("--reconcile-concurrency=4",)
    ]
    limits = [
        {"op": "replace", "path": "/spec/template/spec/containers/0/resources/limits/cpu", "value": "1"}
    ]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": KUBERAY,
        "resources": list(_FOLDERS),
        "images": [{"name": "kuberay/operator", "newTag": TOOLS["ray-operator"].version}],
        "patches": [
            {
                "target": {"kind": "Deployment", "name": DEPLOYMENT},
                "patch": yaml.safe_dump([*arguments, *limits]),
            }
        ],
    }
