"""Tolerations of the platform's pods for a lost node."""

from typing import Any

REPLACED_AFTER_S = 30
"""Kubernetes tolerates a lost node for 300 s (DefaultTolerationSeconds). Meanwhile no gang starts or stops
if KubeRay, which has one replica by default, ran on it."""
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def lost_node_tolerations() -> list[dict[str, Any]]:
    """Returns the tolerations with which a pod is replaced REPLACED_AFTER_S after its node was reported as
    lost."""
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": REPLACED_AFTER_S}
        for key in _TAINTS
    ]
