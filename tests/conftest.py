"""What every test relies on: nothing of the user's own cluster, Pulumi or sandbox is in reach."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_environment_of_the_user() -> None:
    """Removes the variables that would lead a test to the user's cluster or Pulumi backend."""
    for name in list(os.environ):
        if name in ("KUBECONFIG", "MUSTER_SANDBOX") or name.startswith("PULUMI_"):
            del os.environ[name]
