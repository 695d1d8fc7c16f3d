"""The controller creates pods and Services as dry runs alone: RBAC can't tell these from others."""

from components.admission.ray import ENGINE_ACCOUNTS, Policy

DRY_RUNS_ONLY = Policy(
    name="muster-controller-makes-only-dry-runs",
    group="",
    resources=("pods", "services"),
    operations=("CREATE",),
    rules={
        "request.?dryRun.orValue(false)": (
            "Muster's controller asks whether KubeRay's pods and Services would be taken, and makes none"
        )
    },
    condition=f'request.userInfo.username == "{ENGINE_ACCOUNTS["muster"]}"',
)
