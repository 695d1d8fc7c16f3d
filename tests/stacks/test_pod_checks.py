"""What a real API server says of pod templates before their gangs may have quota."""

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from muster.controller.pod_checks import dry_run
from muster.kube.client import Kube
from sandbox.cluster.kubectl import Kubectl
from sandbox.toolchain.paths import CHECKOUT
from tests.simulation.manifests import WORKER

Body = dict[str, Any]
EXAMPLES = sorted((CHECKOUT / "examples").glob("**/*.ray*.yaml"))


def template(
    metadata: Mapping[str, Any] | None = None, container: Mapping[str, Any] | None = None, **spec: Any
) -> Body:
    """The worker's, with these fields of its metadata, its container and its spec."""
    body = deepcopy(WORKER)
    body["spec"]["containers"][0] |= dict(container or {})
    return {"metadata": dict(metadata or {}), "spec": {**body["spec"], **spec}}


def near(operator: str, **more: Any) -> Body:
    term = {"matchExpressions": [{"key": "pool", "operator": operator, **more}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


TWICE = WORKER["spec"]["containers"] * 2
IMPOSSIBLE: dict[str, tuple[Body, str]] = {
    "container name": (template(container={"name": "Bad_Name"}), "spec.containers[0].name"),
    "container name twice": (template(containers=TWICE), "spec.containers[1].name"),
    "no image": (template(container={"image": ""}), "spec.containers[0].image"),
    "operator": (template(affinity=near("Near")), "matchExpressions[0].operator"),
    "operator without values": (template(affinity=near("In")), "matchExpressions[0].values"),
    "label": (template({"labels": {"team": "not a label value!"}}), "template.labels"),
    "annotation": (template({"annotations": {"no/such/key": "x"}}), "template.annotations"),
    "node selector": (template(nodeSelector={"pool": "no good!"}), "spec.nodeSelector"),
    "toleration": (
        template(tolerations=[{"key": "gpu", "operator": "Exists", "value": "yes"}]),
        "spec.tolerations[0]",
    ),
    "more than its limit": (
        template(container={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
        "resources.requests",
    ),
    "less than nothing": (
        template(container={"resources": {"requests": {"cpu": "-1"}}}),
        "resources.requests[cpu]",
    ),
    "a part of a GPU": (
        template(container={"resources": {"limits": {"nvidia.com/gpu": "0.5"}}}),
        "resources.limits[nvidia.com/gpu]",
    ),
}


def said(cluster: Kubectl, *templates: Body) -> list[str]:
    async def story() -> list[str]:
        kube = Kube(str(cluster.kubeconfig))
        try:
            return [await kube.refusal(dry_run("default", msgspec.json.encode(t))) for t in templates]
        finally:
            await kube.close()

    return asyncio.run(story())


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_templates_that_no_pod_can_be_made_of(cluster: Kubectl, name: str) -> None:
    body, field = IMPOSSIBLE[name]
    (told,) = said(cluster, body)
    assert field in told


def test_a_sound_template_is_taken_and_leaves_nothing(cluster: Kubectl) -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    assert said(cluster, template(container=gpu, affinity=near("In", values=["l4"]))) == [""]
    assert "muster-dry-run" not in cluster.run("get", "podtemplates", "--all-namespaces")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_examples_are_taken(cluster: Kubectl, file: Path) -> None:
    found = [t for body in yaml.safe_load_all(file.read_text()) for t in templates_in(body)]
    assert found
    assert said(cluster, *found) == [""] * len(found)


def templates_in(value: Any) -> list[Body]:
    """All pod templates below, as Ray's objects have them."""
    if isinstance(value, list):
        return [t for item in value for t in templates_in(item)]
    if not isinstance(value, dict):
        return []
    own = [v for k, v in value.items() if k in ("template", "submitterPodTemplate")]
    return own + [t for k, v in value.items() if k != "template" for t in templates_in(v)]
