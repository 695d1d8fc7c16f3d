"""Cases of the rules of ComputeClasses, and of the rules of nodes for them."""

from typing import Any

from policies.rule import Resource
from policies.rules import compute_classes as rules
from policies.rules import maintenance, node_pools
from tests.unit.policies.builders import Case, fails, flavor, kubernetes, passes

ACCOUNT = "to one that may only write logs and metrics and pull images"
SECURE_BOOT = "spec.nodePoolAutoCreation.shieldedInstanceConfig.enableSecureBoot"
INTEGRITY = "spec.nodePoolAutoCreation.shieldedInstanceConfig.enableIntegrityMonitoring"
LABEL = "cloud.google.com/compute-class"


def compute_class(**changes: Any) -> Resource:
    good = {
        "priorities": [{"machineType": "g2-standard-12"}],
        "nodePoolAutoCreation": {"enabled": True, "shieldedInstanceConfig": {"enableSecureBoot": True}},
        "nodePoolConfig": {"serviceAccount": "nodes@acme.iam.gserviceaccount.com"},
        "whenUnsatisfiable": "DoNotScaleUp",
    }
    spec = {**good, **changes}
    return kubernetes("cloud.google.com/v1:ComputeClass", "l4", namespace=None, spec=spec)


EXCLUDED = {
    "serviceAccount": "nodes@acme.iam.gserviceaccount.com",
    "maintenanceExclusion": "UNTIL_END_OF_SUPPORT",
}
DISK = {"storage": {"bootDiskKMSKey": "projects/acme/locations/us-west1/keyRings/gke/cryptoKeys/disks"}}
CASES: tuple[Case, ...] = (
    passes(node_pools.boot_disk_keys, "of each priority", compute_class(priorities=[DISK, DISK])),
    fails(
        node_pools.boot_disk_keys,
        "of some priorities",
        compute_class(priorities=[DISK, {}]),
        "l4: set spec.priorities[1].storage.bootDiskKMSKey: it is absent",
    ),
    passes(maintenance.upgrades_are_not_withheld, "of a class", compute_class()),
    fails(
        maintenance.upgrades_are_not_withheld,
        "from a class",
        compute_class(nodePoolConfig=EXCLUDED),
        'l4: remove spec.nodePoolConfig.maintenanceExclusion: it is "UNTIL_END_OF_SUPPORT"',
    ),
    passes(rules.flavor_has_a_compute_class, "its own", compute_class(), flavor(compute_class="l4")),
    passes(rules.flavor_has_a_compute_class, "a flavor of a node pool", flavor()),
    passes(rules.flavor_has_a_compute_class, "a class in another stack", flavor(compute_class="l5")),
    fails(
        rules.flavor_has_a_compute_class,
        "another one",
        [compute_class(), flavor(compute_class="l5")],
        f"l4: declare the ComputeClass l5, or remove the node label {LABEL}",
    ),
    passes(rules.compute_class_keeps_to_its_priorities, "as declared", compute_class()),
    fails(
        rules.compute_class_keeps_to_its_priorities,
        "other machines, and migration",
        compute_class(whenUnsatisfiable="ScaleUpAnyway", activeMigration={"optimizeRulePriority": True}),
        'l4: set spec.whenUnsatisfiable to "DoNotScaleUp": it is "ScaleUpAnyway"',
        "l4: remove spec.activeMigration.optimizeRulePriority: it is true",
    ),
    passes(node_pools.node_service_account, "a class with its own", compute_class()),
    fails(
        node_pools.node_service_account,
        "a class without",
        compute_class(nodePoolConfig={}),
        f"l4: set spec.nodePoolConfig.serviceAccount {ACCOUNT}",
    ),
    fails(
        node_pools.container_optimized_os,
        "a class with Ubuntu",
        compute_class(nodePoolConfig={"imageType": "ubuntu_containerd"}),
        'l4: set spec.nodePoolConfig.imageType to "COS_CONTAINERD": it is "ubuntu_containerd"',
    ),
    fails(
        node_pools.secure_boot,
        "a class without",
        compute_class(nodePoolAutoCreation={"enabled": True}),
        f"l4: set {SECURE_BOOT} to true: it is absent",
    ),
    fails(
        node_pools.integrity_monitoring,
        "a class without integrity monitoring",
        compute_class(nodePoolAutoCreation={"shieldedInstanceConfig": {"enableIntegrityMonitoring": False}}),
        f"l4: remove {INTEGRITY}: it is false",
    ),
)
