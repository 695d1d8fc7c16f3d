"""Runs the real JobSet controller with its webhooks, unchanged and without root."""

import base64
import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.cluster.control_plane import authority
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until

NAME = "jobset"
READY_SECONDS_MAX = 60.0
_JOBSETS = {"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["v1alpha2"], "resources": ["jobsets"]}
_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
# Name, path, and rule of each webhook (JobSet: config/components/webhook/manifests.yaml).
_MUTATING = (
    ("mjobset.kb.io", "/mutate-jobset-x-k8s-io-v1alpha2-jobset", {**_JOBSETS, "operations": ["CREATE"]}),
    ("mpod.kb.io", "/mutate--v1-pod", {**_PODS, "operations": ["CREATE"]}),
)
_VALIDATING = (
    (
        "vjobset.kb.io",
        "/validate-jobset-x-k8s-io-v1alpha2-jobset",
        {**_JOBSETS, "operations": ["CREATE", "UPDATE"]},
    ),
    ("vpod.kb.io", "/validate--v1-pod", {**_PODS, "operations": ["CREATE"]}),
)


def start(processes: Processes, executable: Path, kubectl: Kubectl) -> None:
    """Starts the controller and registers its webhooks; the CRD must be served. Raises StepError with the
    end of its log if it exits or is not ready within READY_SECONDS_MAX."""
    state = processes.state
    folder, pki = state.root / NAME, authority(state)
    folder.mkdir(parents=True, exist_ok=True)
    # The administrator's certificate of kwok is valid for 127.0.0.1.
    for name, source in (("tls.crt", "admin.crt"), ("tls.key", "admin.key")):
        shutil.copy(pki / source, folder / name)
    webhook_port, health_port = free_port(), free_port()
    file = folder / "config.json"
    configuration: dict[str, Any] = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    file.write_text(json.dumps(configuration))
    argv = [str(executable), f"--config={file}"]
    processes.start(NAME, argv, {"KUBECONFIG": str(state.kubeconfig)}, restarted=True)
    wait_until(
        "the JobSet controller becoming ready",
        lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
        READY_SECONDS_MAX,
        partial(processes.check_start, NAME),
    )
    bundle = base64.b64encode((pki / "ca.crt").read_bytes()).decode()
    kubectl.create(
        [
            _webhooks("MutatingWebhookConfiguration", _MUTATING, webhook_port, bundle),
            _webhooks("ValidatingWebhookConfiguration", _VALIDATING, webhook_port, bundle),
        ]
    )


def _webhooks(
    kind: str, webhooks: Sequence[tuple[str, str, dict[str, Any]]], port: int, bundle: str
) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle},
                "rules": [rule],
            }
            for name, path, rule in webhooks
        ],
    }
