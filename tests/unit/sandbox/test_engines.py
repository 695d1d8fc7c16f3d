"""Settings and scenarios of a sandbox with each engine, and KAI's command lines."""

from typing import Any

import pytest
import yaml

from sandbox.cluster import kai_process
from sandbox.cluster.nodes import level_labels, static_nodes
from sandbox.scenario import ENGINES, SCENARIOS
from sandbox.stack_file import STACK, settings_for
from settings.load import parse
from tools.toolchain.paths import CHECKOUT


def settings(engine: str) -> tuple[dict[str, Any], list[str]]:
    config = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml").read_text())["config"]
    changes = settings_for(engine, config)
    return config, changes


@pytest.mark.parametrize("engine", ENGINES)
def test_stack_local_is_valid_with_every_engine(engine: str) -> None:
    config, _ = settings(engine)
    assert parse(config, "local").admission.engine == engine


def test_kai_gets_static_gpu_nodes_and_the_change_is_reported() -> None:
    config, changes = settings("kai")
    assert changes == ["l4 on demand instead of queued, as KAI requires"]
    gpus = [
        n["metadata"]["labels"]
        for n in static_nodes(parse(config, "local").pools)
        if "l4" in n["metadata"]["name"]
    ]
    assert len(gpus) == 10
    assert all(labels["nvidia.com/gpu.count"] == "1" for labels in gpus)


LEVELS = ("block", "rack", "kubernetes.io/hostname")
# Name of a node -> its block and rack.
PLACES = {
    "gke-l4-0": ("gke-l4-0", "gke-l4-0"),
    "gke-l4-1": ("gke-l4-0", "gke-l4-0"),
    "gke-l4-2": ("gke-l4-0", "gke-l4-1"),
    "gke-l4-3": ("gke-l4-0", "gke-l4-1"),
    "gke-l4-4": ("gke-l4-1", "gke-l4-2"),
    "gke-l4-1f2e-0": ("gke-l4-1f2e-0", "gke-l4-1f2e-0"),
}


@pytest.mark.parametrize("name", PLACES)
def test_two_nodes_share_the_lowest_level_and_four_the_next(name: str) -> None:
    assert level_labels(name, LEVELS) == dict(zip(LEVELS[:2], PLACES[name], strict=True))


@pytest.mark.parametrize("engine", ["muster", "kueue"])
def test_other_engines_change_only_the_engine(engine: str) -> None:
    assert settings(engine)[1] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_a_serving_scenario(engine: str) -> None:
    assert "serving" in [scenario.name for scenario in SCENARIOS[engine]]


@pytest.mark.parametrize("service", kai_process.SERVICES)
def test_kai_uses_the_configured_address_and_loopback(service: str) -> None:
    """The services listen on loopback, except the port for plug-ins, for which KAI has no address option."""
    values = dict(flag.removeprefix("--").split("=") for flag in kai_process.flags(service, "127.0.0.1:9"))
    assert "127.0.0.1:9" in values.values()
    addresses = [value for name, value in values.items() if name.endswith("address")]
    assert all(address.startswith("127.0.0.1:") for address in addresses)
