"""States of a pod as the API server reports them, to compare simulated nodes with real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.processes import wait_until
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.resumed_training import NAMESPACE

START_SECONDS_MAX = 60.0
END_SECONDS_MAX = 60
TERMINATED_BY_SIGTERM = 143


def end_of_a_pod(kubeconfig: Path, name: str) -> list[Object]:
    """Creates a pod that exits at SIGTERM, deletes it once it runs, and returns its states since then.

    The last state is that of its removal. Raises StepError if it does not start.
    """
    with closing(kinds.connect(kubeconfig)) as client:
        client.create(kinds.Pod(pod(name)))

        def runs() -> bool:
            return bool(client.get(kinds.Pod, name, namespace=NAMESPACE)["status"]["phase"] == "Running")

        wait_until(f"{name} running", runs, START_SECONDS_MAX)
        version = client.get(kinds.Pod, name, namespace=NAMESPACE)["metadata"]["resourceVersion"]
        client.delete(kinds.Pod, name, namespace=NAMESPACE)
        return list(_states(client, name, version))


def _states(client: Any, name: str, version: str) -> Iterator[Object]:
    events = client.watch(
        kinds.Pod,
        namespace=NAMESPACE,
        fields={"metadata.name": name},
        resource_version=version,
        server_timeout=END_SECONDS_MAX,
    )
    for operation, state in events:
        yield dict(state)
        if operation == "DELETED":
            return


def pod(name: str) -> dict[str, Any]:
    """Returns a pod with an image that real nodes have."""
    job = yaml.safe_load((EXAMPLES / "cpu-batch.rayjob.yaml").read_text())
    (ray,) = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    container = {
        "name": "main",
        "image": ray["image"],
        "command": ["sh", "-c", f"trap 'exit {TERMINATED_BY_SIGTERM}' TERM; sleep 3600 & wait"],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    context = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"restartPolicy": "Never", "securityContext": context, "containers": [container]}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def check_final_phase_before_removal(states: list[Object]) -> None:
    """Checks that a deleted pod is Failed, with its containers terminated, before it is removed."""
    first, *_, last = states
    assert "deletionTimestamp" in first["metadata"]
    assert first["status"]["phase"] == "Running", "its containers get time to end"
    final = [state for state in states[:-1] if state["status"]["phase"] == "Failed"]
    assert final, f"phases: {[state['status']['phase'] for state in states]}"
    for state in (*final, last):
        (container,) = state["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == TERMINATED_BY_SIGTERM
        assert not kinds.is_true(state, "Ready")
    reasons = {kinds.condition(final[-1], name)["reason"] for name in ("Ready", "ContainersReady")}
    assert reasons == {"PodFailed"}
