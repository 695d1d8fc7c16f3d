"""Policies that narrow what Muster's controller writes to pods and Services."""

import json

from components.admission.metadata import same_except, same_of_prefixes, same_owners_and_finalizers
from components.admission.ray import ENGINE_ACCOUNTS, Policy
from muster.objects.names import (
    CLASS_ANNOTATION,
    CONSUME_ANNOTATION,
    SHRINKS_ANNOTATION,
    UNCONSTRAINED_TOPOLOGY,
)

# RBAC cannot express that the controller creates pods and Services as dry runs only.
DRY_RUNS_ONLY = Policy(
    name="muster-controller-makes-only-dry-runs",
    group="",
    resources=("pods", "services"),
    operations=("CREATE",),
    rules={
        "request.?dryRun.orValue(false)": (
            "Muster's controller creates pods and Services only as dry runs, to check those of KubeRay"
        )
    },
    condition=f'request.userInfo.username == "{ENGINE_ACCOUNTS["muster"]}"',
)

# Pods of an autoscaled group are placed on the nodes of a ProvisioningRequest when their gate is opened: the
# API server allows further node selectors for gated pods only, and none of the existing ones may change.
_WITH_THE_GATE = (CONSUME_ANNOTATION, CLASS_ANNOTATION, UNCONSTRAINED_TOPOLOGY)
_PLACED = json.dumps(_WITH_THE_GATE)
_WRITTEN = json.dumps([*_WITH_THE_GATE, SHRINKS_ANNOTATION])
_ANNOTATIONS = ("object.metadata.?annotations.orValue({})", "oldObject.metadata.?annotations.orValue({})")
GATES_ONLY = Policy(
    name="muster-controller-opens-only-gates",
    group="",
    resources=("pods",),
    operations=("UPDATE",),
    rules={
        " && ".join(
            [
                same_owners_and_finalizers(),
                same_of_prefixes("labels", [""]),
                same_except(*_ANNOTATIONS, f"k in {_WRITTEN}"),
                same_except("object.spec", "oldObject.spec", 'k in ["schedulingGates", "nodeSelector"]'),
            ]
        ): (
            "Muster's controller changes only the scheduling gates of pods, the nodes of gated pods, and the "
            f"annotation {SHRINKS_ANNOTATION}"
        ),
        "size(oldObject.spec.?schedulingGates.orValue([])) > 0 || "
        f"{same_except(*_ANNOTATIONS, f'!(k in {_PLACED})')}": (
            "Muster's controller changes the ProvisioningRequest only of pods whose gate is closed"
        ),
    },
    condition=DRY_RUNS_ONLY.condition,
)
