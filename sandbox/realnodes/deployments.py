"""Waits for the pods of Deployments, and explains why they do not start."""

from sandbox.cluster.kubectl import Kubectl
from tools.toolchain.steps import StepError

AVAILABLE_SECONDS_MAX = 180


def wait_available(kubectl: Kubectl, namespace: str, deployment: str) -> str:
    """Waits until all replicas of the Deployment are available; returns how many there are.

    Raises StepError with the states of its pods' containers if they are not in time.
    """
    try:
        kubectl.run(
            "rollout",
            "status",
            f"deployment/{deployment}",
            "-n",
            namespace,
            f"--timeout={AVAILABLE_SECONDS_MAX}s",
            timeout_seconds=AVAILABLE_SECONDS_MAX + 30,
        )
    except StepError as error:
        pods = kubectl.run("get", "pods", "-n", namespace, "-o", "wide")
        events = kubectl.run(
            "get", "events", "-n", namespace, "--field-selector=type=Warning", "--sort-by=.lastTimestamp"
        )
        raise StepError(
            f"Deployment {namespace}/{deployment} is not available: {error}\n{pods}{events}",
            try_this=f"{kubectl.command} describe pods -n {namespace}",
        ) from error
    path = "jsonpath={.status.availableReplicas}"
    return kubectl.run("get", "deployment", deployment, "-n", namespace, "-o", path).strip()
