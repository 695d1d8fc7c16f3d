"""The CRDs of a sandbox: in one version where the platform serves one."""

from typing import Any

import pytest
import yaml

from tools.toolchain.crds import with_one_version
from tools.toolchain.steps import StepError
from tools.toolchain.tools import crds_for


def definition(*versions: str) -> dict[str, Any]:
    served = [{"name": version, "served": True} for version in versions]
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "versions": served},
    }


@pytest.mark.parametrize("versions", [("v1beta1", "v1beta2"), ("v1beta2",)], ids=["both", "one"])
def test_one_version_is_left(versions: tuple[str, ...]) -> None:
    text = yaml.safe_dump(definition(*versions))
    assert yaml.safe_load(with_one_version(text, "v1beta2")) == definition("v1beta2")


def test_a_version_that_is_missing_is_an_error() -> None:
    """No CRD without versions reaches the API server, for example after an upgrade of Kueue."""
    with pytest.raises(StepError, match=r"the CRD things\.example\.com has no version v1beta2"):
        with_one_version(yaml.safe_dump(definition("v1")), "v1beta2")


@pytest.mark.parametrize(("engine", "version"), [("muster", "v1beta2"), ("kueue", ""), ("kai", "")])
def test_muster_alone_serves_one_version_of_kueues_api(engine: str, version: str) -> None:
    (kueue,) = (source for source in crds_for(engine) if source.module == "sigs.k8s.io/kueue")
    assert kueue.version == version
