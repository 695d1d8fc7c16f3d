"""The sizes of a flavor's nodes, as the controller reads them."""

import json
from typing import Any

import pytest

from muster.objects.names import NODE_SIZES
from settings.load import parse
from settings.manifests.objects import manifests, node_sizes
from settings.model.pools.pool import Pool
from tests.unit.settings.builders import EXISTING, FILE, GOOD

L4: dict[str, Any] = {"name": "l4", "machineType": "g2-standard-8", "gpu": {"type": "nvidia-l4", "count": 1}}
A_SIZE = {"cpu": "7910m", "memory": "29022Mi", "ephemeral-storage": "44879Mi", "nvidia.com/gpu": "1"}


def sizes(**fields: Any) -> Any:
    return json.loads(node_sizes(Pool.model_validate(L4 | fields, strict=False)))


def test_a_pool_has_one_size_without_an_estimate_of_daemon_sets() -> None:
    assert sizes() == [A_SIZE]


def test_declared_daemon_sets_are_taken_off() -> None:
    declared = {"cpu": "1", "memory": "1Gi", "pods": "3"}
    assert sizes(daemonSets=declared) == [A_SIZE | {"cpu": "6910m", "memory": "27998Mi"}]


@pytest.mark.parametrize(
    ("cluster", "annotated"),
    [pytest.param(GOOD["muster:cluster"], True, id="GKE"), pytest.param(EXISTING, False, id="elsewhere")],
)
def test_flavors_of_gke_have_the_sizes_of_their_nodes(cluster: Any, annotated: bool) -> None:
    flavors = [
        m for m in manifests(parse(GOOD | {"muster:cluster": cluster}, FILE)) if m["kind"] == "ResourceFlavor"
    ]
    assert flavors
    assert {NODE_SIZES in flavor["metadata"].get("annotations", {}) for flavor in flavors} == {annotated}


def test_the_controller_reads_the_annotation_that_the_stack_writes() -> None:
    assert NODE_SIZES == NODE_SIZES
