"""The controller creates pods and Services as dry runs only, which RBAC cannot express."""

from components.admission.ray import ENGINE_ACCOUNTS, Policy

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
