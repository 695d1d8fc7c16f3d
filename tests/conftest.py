"""Keeps tests away from the user's own cluster, Pulumi and sandbox, and marks each with its layer."""

import gc
import os
from pathlib import Path

import hypothesis
import pytest

from tools.testing.effort import EXAMPLES_PERCENT
from tools.testing.layers import QUICK

# Properties scale their number of examples by the profile's (tests/unit/admission/strategies.py).
# No example has a time limit: a busy machine is no failure.
hypothesis.settings.register_profile("check", max_examples=2, deadline=None)
hypothesis.settings.register_profile("test", max_examples=EXAMPLES_PERCENT, deadline=None)
hypothesis.settings.register_profile("alone", deadline=None)
hypothesis.settings.load_profile("alone")

LEFT_OUT = pytest.mark.skip(reason="thorough: runs in continuous integration, or if its layer is named")
# Collection imports the SDKs, whose million objects stay: going through them again and again for garbage
# would take more than half of its time, and later a third of that of the tests of components.
gc.disable()


@pytest.fixture(autouse=True, scope="session")
def no_environment_of_the_user() -> None:
    """Removes variables that lead to the user's cluster or Pulumi backend, and a running make's variables."""
    for name in list(os.environ):
        # With MAKELEVEL set, a make in a test would print the folders it enters, too.
        if name in ("KUBECONFIG", "MUSTER_SANDBOX") or name.startswith(("PULUMI_", "MAKE", "MFLAGS")):
            del os.environ[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(QUICK, action="store_true", help="skip tests with the mark `thorough`")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test with the folder of tests/ that it is in, so that `pytest -m unit` selects a layer.

    The mark `shared` selects tests that share a cluster, for one process (tools/testing/layers.py).
    """
    root = Path(__file__).parent
    sharing = {item.path for item in items if uses_cluster(item)}
    for item in items:
        layer = item.path.relative_to(root).parts[0]
        item.add_marker(layer)
        # In stacks, the tests of a file share previews and charts too.
        if uses_cluster(item) or (layer == "stacks" and item.path in sharing):
            item.add_marker("shared")
        if config.getoption(QUICK) and item.get_closest_marker("thorough"):
            item.add_marker(LEFT_OUT)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def uses_cluster(item: pytest.Item) -> bool:
    return "cluster" in getattr(item, "fixturenames", ())
