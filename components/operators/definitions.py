"""An operator whose CRDs are separate resources, before its Helm release.

Helm installs a chart's crds/ once and never upgrades them. They are retained when the stack is destroyed,
because deleting a CRD deletes all objects of its kind; use `kubectl delete crd` to do so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_kubernetes.helm.v3 import Release
from pulumi_kubernetes.yaml.v2 import ConfigGroup

from components.base import Component
from components.operators.charts import HelmChart, release
from components.operators.namespace import OperatorNamespace, OperatorNamespaceArgs


def install(
    component: Component,
    prefix: str,
    definitions: Sequence[str],
    place: OperatorNamespaceArgs,
    chart: HelmChart,
    values: Mapping[str, Any],
) -> Release:
    """Declares the CRDs (URLs), the namespace and the release as children of the component; the prefix begins
    the names of the first two."""
    plural = "s" if len(definitions) > 1 else ""
    crds = ConfigGroup(
        component.named(f"{prefix}-definition{plural}"),
        files=list(definitions),
        opts=component.child(retain_on_delete=True),
    )
    home = OperatorNamespace(f"{prefix}-namespace", place, component.child())
    return release(chart, values, component.child(depends_on=[crds, *home.ready]))
