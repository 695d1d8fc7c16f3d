"""Runs the real controllers of JobSets and LeaderWorkerSets with their webhooks, without root."""

import base64
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.cluster.control_plane import authority
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until

READY_SECONDS_MAX = 60.0
Webhook = tuple[str, str, dict[str, Any]]
"""The name, the path and the rule."""
_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@dataclass(frozen=True)
class JobOperator:
    """A controller whose executable has the name `name`. Its configuration file is of `configuration`, and
    of the same shape for both."""

    name: str
    title: str
    configuration: str
    mutating: tuple[Webhook, ...]
    validating: tuple[Webhook, ...]


def _webhooks_of(
    group: str, version: str, plural: str, mutated: Sequence[str], pods: Sequence[str]
) -> tuple[tuple[Webhook, ...], tuple[Webhook, ...]]:
    """Returns the mutating and the validating webhooks, whose paths follow from the resource. `mutated`: the
    operations for which the object is defaulted; `pods`: those for which pods are validated."""
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": [plural]}
    word = plural.removesuffix("s")
    path = f"{group.replace('.', '-')}-{version}-{word}"
    both = ["CREATE", "UPDATE"]
    return (
        (f"m{word}.kb.io", f"/mutate-{path}", {**rule, "operations": list(mutated)}),
        ("mpod.kb.io", "/mutate--v1-pod", {**_PODS, "operations": ["CREATE"]}),
    ), (
        (f"v{word}.kb.io", f"/validate-{path}", {**rule, "operations": both}),
        ("vpod.kb.io", "/validate--v1-pod", {**_PODS, "operations": list(pods)}),
    )


# JobSet: config/components/webhook/manifests.yaml; LeaderWorkerSet: config/webhook/manifests.yaml.
JOB_OPERATORS = {
    "jobset": JobOperator(
        "jobset",
        "JobSet",
        "config.jobset.x-k8s.io/v1alpha1",
        *_webhooks_of("jobset.x-k8s.io", "v1alpha2", "jobsets", ["CREATE"], ["CREATE"]),
    ),
    "lws": JobOperator(
        "lws",
        "LeaderWorkerSet",
        "config.lws.x-k8s.io/v1alpha1",
        *_webhooks_of(
            "leaderworkerset.x-k8s.io",
            "v1",
            "leaderworkersets",
            ["CREATE", "UPDATE"],
            ["CREATE", "UPDATE"],
        ),
    ),
}


def start(processes: Processes, operator: JobOperator, executable: Path, kubectl: Kubectl) -> None:
    """Starts the controller and registers its webhooks; the CRD must be served. Raises StepError with the
    end of its log if it exits or is not ready within READY_SECONDS_MAX."""
    state = processes.state
    folder, pki = state.root / operator.name, authority(state)
    folder.mkdir(parents=True, exist_ok=True)
    # The administrator's certificate of kwok is valid for 127.0.0.1.
    for name, source in (("tls.crt", "admin.crt"), ("tls.key", "admin.key")):
        shutil.copy(pki / source, folder / name)
    webhook_port, health_port = free_port(), free_port()
    file = folder / "config.json"
    configuration: dict[str, Any] = {
        "apiVersion": operator.configuration,
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    file.write_text(json.dumps(configuration))
    argv = [str(executable), f"--config={file}"]
    processes.start(operator.name, argv, {"KUBECONFIG": str(state.kubeconfig)}, restarted=True)
    wait_until(
        f"the {operator.title} controller becoming ready",
        lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
        READY_SECONDS_MAX,
        partial(processes.check_start, operator.name),
    )
    bundle = base64.b64encode((pki / "ca.crt").read_bytes()).decode()
    kubectl.create(
        [
            _webhooks("Mutating", operator.name, operator.mutating, webhook_port, bundle),
            _webhooks("Validating", operator.name, operator.validating, webhook_port, bundle),
        ]
    )


def _webhooks(kind: str, name: str, webhooks: Sequence[Webhook], port: int, bundle: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": webhook,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle},
                "rules": [rule],
            }
            for webhook, path, rule in webhooks
        ],
    }
