"""The cluster that a provider connects to, and errors that contain no part of a kubeconfig."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from preview.resources.kubernetes_cluster import NoClusterError, connect
from preview.resources.refusals import RefusedError


def kubeconfig(**contexts: str) -> str:
    """Returns a kubeconfig with a cluster, user and context per `name=server`; the first is current."""
    names = list(contexts)
    return yaml.safe_dump(
        {
            "current-context": names[0],
            "clusters": [{"name": n, "cluster": {"server": contexts[n]}} for n in names],
            "users": [{"name": n, "user": {"token": "opensesame"}} for n in names],
            "contexts": [
                {"name": n, "context": {"cluster": n, "user": n, "namespace": f"of-{n}"}} for n in names
            ],
        }
    )


TWO = kubeconfig(a="http://127.0.0.1:1", b="http://127.0.0.1:2")


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        pytest.param({"kubeconfig": TWO}, ("http://127.0.0.1:1", "of-a"), id="content"),
        pytest.param({"kubeconfig": TWO, "context": "b"}, ("http://127.0.0.1:2", "of-b"), id="context"),
        pytest.param({"kubeconfig": TWO, "namespace": "n"}, ("http://127.0.0.1:1", "n"), id="namespace"),
        pytest.param({}, ("http://127.0.0.1:9", "of-c"), id="ambient"),
        pytest.param({"enableServerSideApply": "true"}, ("http://127.0.0.1:9", "of-c"), id="ignored input"),
    ],
)
def test_provider_connects_to_the_cluster_of_its_inputs_or_environment(
    tmp_path: Path, inputs: dict[str, Any], expected: tuple[str, str]
) -> None:
    ambient = tmp_path / "kubeconfig"
    ambient.write_text(kubeconfig(c="http://127.0.0.1:9"))
    api = connect(inputs, {"KUBECONFIG": str(ambient)})
    assert (api.url, api.default_namespace) == expected


@pytest.mark.parametrize(("annotations", "expected"), [({}, False), ({"enablePatchForce": "true"}, True)])
def test_fields_of_others_are_taken_over_if_the_provider_allows_it(
    annotations: dict[str, str], expected: bool
) -> None:
    assert connect({"kubeconfig": TWO, **annotations}, {}).take_over is expected


def test_placeholder_is_not_a_cluster() -> None:
    with pytest.raises(NoClusterError, match=r"https://ray\.invalid is a placeholder of a preview"):
        connect({"kubeconfig": kubeconfig(a="https://ray.invalid")}, {})


@pytest.mark.parametrize("environment", [{}, {"KUBECONFIG": "/nowhere/kubeconfig"}])
def test_missing_kubeconfig_means_no_cluster(environment: dict[str, str]) -> None:
    with pytest.raises(NoClusterError, match=r"KUBECONFIG is not set|/nowhere/kubeconfig does not exist"):
        connect({}, environment)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        pytest.param({"kubeconfig": TWO, "context": "c"}, "Context 'c' not found", id="unknown context"),
        pytest.param({"kubeconfig": "a: b\n"}, "clusters", id="not a kubeconfig"),
        pytest.param({"kubeconfig": "token: opensesame\n  x: ]"}, "given as text", id="not YAML"),
        pytest.param(
            {"renderYamlToDirectory": "d"}, "does not support renderYamlToDirectory", id="unsupported"
        ),
    ],
)
def test_unusable_inputs_are_refused_without_showing_them(inputs: dict[str, Any], expected: str) -> None:
    with pytest.raises(RefusedError) as refused:
        connect(inputs, {})
    assert expected in str(refused.value)
    assert "opensesame" not in str(refused.value)
