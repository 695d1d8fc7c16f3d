"""Runs the real Kueue, unchanged and without root, instead of Muster's controller.

Kueue manages its certificates (`internalCertManagement`): it fills a Secret that must exist, adds the CA to
the conversion clauses of its CRDs, and waits until a kubelet has mounted the Secret. This module acts as that
kubelet, and an ExternalName Service directs the API server to the process on loopback, so that conversion
between v1beta1 and v1beta2 works as in an installation. (Without internal certificate management, Kueue reads
fixed paths under /etc.)

Kueue's webhooks for Ray objects are registered too, as in an installation: they put the scheduling gates into
the pods of elastic ones. Not included: those for other kinds; the stack's admission policies suspend queued
Jobs.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.types import PatchType

from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS
from sandbox.cluster import kinds
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, answers, wait_until

NAME = "kueue"
NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"
READY_SECONDS_MAX = 60.0
# The CRDs whose conversion clause Kueue's certificate rotator insists on (pkg/util/cert).
CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
# Its webhooks for Ray's kinds (config/components/webhook/manifests.yaml at v0.19.2).
ADMITTED = tuple(kind for kind in JOB_KINDS if kind.ray_cluster)
REGISTERED = {
    kinds.MutatingWebhookConfiguration: ("mutating", "mutate", ["CREATE"]),
    kinds.ValidatingWebhookConfiguration: ("validating", "validate", ["CREATE", "UPDATE"]),
}


def start(
    processes: Processes, executable: Path, kubeconfig: Path, settings: Mapping[str, Any] | None = None
) -> None:
    """Starts Kueue, with these `settings` in its Configuration, and waits until it is ready to admit.

    Raises StepError with the end of Kueue's log if it exits or is not ready within READY_SECONDS_MAX.
    """
    with closing(kinds.connect(kubeconfig)) as client:
        _start(processes, executable, kubeconfig, client, settings or {})


def _start(
    processes: Processes,
    executable: Path,
    kubeconfig: Path,
    client: Client,
    settings: Mapping[str, Any],
) -> None:
    folder = processes.state.root / NAME
    certificates = folder / "certificates"
    certificates.mkdir(parents=True, exist_ok=True)
    webhook_port, health_port = free_port(), free_port()
    prepare_cluster(client, webhook_port)
    file = folder / "config.json"
    content = {**configuration(webhook_port, health_port, certificates), **settings}
    # JSON is YAML, which is what Kueue reads.
    file.write_text(json.dumps(content, indent=2) + "\n")
    processes.start(
        NAME,
        # The visibility server would need a fixed port and its own certificates.
        [str(executable), "--config", str(file), "--feature-gates=VisibilityOnDemand=false"],
        env={"KUBECONFIG": str(kubeconfig), "POD_NAMESPACE": NAMESPACE},
        restarted=True,
    )
    ready = f"http://127.0.0.1:{health_port}/readyz"
    alive = partial(processes.check_start, NAME)
    wait_until(
        "Kueue filling its Secret", lambda: mount_secret(client, certificates), READY_SECONDS_MAX, alive
    )
    wait_until("Kueue becoming ready", lambda: answers(ready), READY_SECONDS_MAX, alive)


def configuration(webhook_port: int, health_port: int, certificates: Path) -> dict[str, Any]:
    """Returns Kueue's Configuration for one process on loopback."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health_port}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhook_port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": SERVICE,
            "webhookSecretName": SECRET,
        },
        "clientConnection": {"qps": 1000, "burst": 2000},
        "manageJobsWithoutQueueName": False,
        "integrations": {
            "frameworks": ["batch/job", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice"]
        },
    }


def prepare_cluster(client: Client, webhook_port: int) -> None:
    """Creates the other objects that Kueue needs: namespace, Service, Secret, webhooks."""
    _ensure(client, kinds.Namespace, {"metadata": {"name": NAMESPACE}})
    _ensure(client, kinds.Secret, {"metadata": {"name": SECRET, "namespace": NAMESPACE}})
    port = {"name": "https", "port": webhook_port, "protocol": "TCP"}
    _ensure(
        client,
        kinds.Service,
        {
            "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [port]},
        },
    )
    service = {"namespace": NAMESPACE, "name": SERVICE, "port": webhook_port, "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    for plural in CONVERTED:
        patch = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
        client.patch(
            kinds.CustomResourceDefinition, f"{plural}.kueue.x-k8s.io", patch, patch_type=PatchType.MERGE
        )
    for kind, (noun, verb, operations) in REGISTERED.items():
        webhooks = [_webhook(admitted, verb, operations, webhook_port) for admitted in ADMITTED]
        name = f"kueue-{noun}-webhook-configuration"  # Kueue adds its CA to those of this name
        _ensure(client, kind, {"metadata": {"name": name}, "webhooks": webhooks})


def _webhook(kind: JobKind, verb: str, operations: Sequence[str], port: int) -> dict[str, Any]:
    group, version, name = kind.kind.group, kind.kind.version, kind.name.lower()
    path = f"/{verb}-{group.replace('.', '-')}-{version}-{name}"
    service = {"namespace": NAMESPACE, "name": SERVICE, "port": port, "path": path}
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [kind.plural],
        "operations": list(operations),
    }
    return {
        "name": f"{verb[0]}{name}.kb.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {"service": service},
        "rules": [rule],
    }


def _ensure(client: Client, kind: kinds.Kind, obj: kinds.Object) -> None:
    """Creates the object, or updates an existing one from an earlier start."""
    try:
        client.create(kind(obj))
    except ApiError as error:
        if error.status.reason != "AlreadyExists":
            raise
        namespace, name = kinds.key(obj)
        client.patch(kind, name, obj, namespace=namespace or None, patch_type=PatchType.MERGE)


def mount_secret(client: Client, folder: Path) -> bool:
    """Writes the Secret's files as a kubelet would mount them; returns False until Kueue has filled it."""
    data = client.get(kinds.Secret, SECRET, namespace=NAMESPACE).get("data") or {}
    for name in ("tls.key", "tls.crt"):
        if name not in data:
            return False
        file = folder / name
        file.touch(mode=0o600)
        file.write_bytes(base64.b64decode(data[name]))
    return True
