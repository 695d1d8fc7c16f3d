"""Kueue in pods, from the chart of its pinned Go module, rendered with the values of the platform."""

import json
import subprocess
from pathlib import Path

from components.operators.kueue import values
from sandbox.cluster.kubectl import Kubectl
from settings.model.operators.kueue import Kueue
from settings.model.operators.namespaces import KUEUE
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.steps import StepError

MODULE = "sigs.k8s.io/kueue"
DEPLOYMENT = "kueue-controller-manager"
REPLICAS = 1
"""Replicas of Kueue: each requests half a CPU of this machine, and the scenario's gangs need the others."""


def deploy_kueue(kubectl: Kubectl, helm: Path, file: Path, settings: Kueue) -> None:
    """Applies what Helm would install: CRDs with conversion, webhooks, RBAC, and Kueue's Deployment.

    `file` receives the manifests. Raises StepError if Helm cannot render the chart.
    """
    chart = module_directory(find_go(), "kueue", MODULE) / "charts" / "kueue"
    argv = [str(helm), "template", "kueue", str(chart), "--namespace", KUEUE, "--values", "-"]
    content = json.dumps(values(settings.model_copy(update={"replicas": REPLICAS}), {}))
    rendered = subprocess.run(argv, input=content, capture_output=True, text=True)
    if rendered.returncode != 0:
        raise StepError(f"Helm cannot render Kueue's chart: {rendered.stderr.strip()}")
    file.write_text(rendered.stdout)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUEUE, "labels": labels}}
    kubectl.create([namespace])
    # The sandbox has created the CRDs before, for the objects of `pulumi up`.
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(file))
