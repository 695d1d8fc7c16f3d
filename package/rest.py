"""Parts of a stack file other than a component's inputs: placeholders for what other components declare.

Rules check whole stacks; these parts satisfy all rules, for any inputs.
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
