"""Parts of a stack file beside the inputs of a component: the counterpart of what other components declare.

Rules are about whole stacks; these parts break none, whatever the inputs are.
"""

from typing import Any

ELSEWHERE = {"kind": "existing", "name": "elsewhere"}
# With everything that a tenant may need.
GKE: dict[str, Any] = {
    "kind": "gke",
    "name": "elsewhere",
    "csiDrivers": ["persistent-disk", "gcs-fuse"],
    "gatewayApi": True,
    "securityGroup": "gke-security-groups@example.com",
}
POOL: dict[str, Any] = {"name": "system", "machineType": "e2-standard-4", "nodes": {"max": 1}}
CONTROLLER = {"image": "example.com/muster/controller:0"}
