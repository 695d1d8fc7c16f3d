"""`make apply`: jobs keep their namespaces and nodes."""

from pathlib import Path
from typing import Any

import pytest

from preview.plan import ResourceChange
from sandbox.apply import NAMESPACE, keep_jobs, pods_on_nodes
from sandbox.cluster import kinds
from tools.toolchain.paths import RunState
from tools.toolchain.steps import StepError


class Sandbox:
    """An API server with these jobs."""

    def __init__(self, *jobs: tuple[str, str]) -> None:
        self.jobs = jobs

    def get(self, kind: Any, name: str) -> dict[str, Any]:
        assert kind is kinds.CustomResourceDefinition
        return {"metadata": {"name": name}}

    def list(self, kind: Any, namespace: str, labels: dict[str, Any]) -> list[dict[str, Any]]:
        assert (namespace, labels) == ("*", {})
        if kind is not kinds.RayJob:
            return []
        return [
            {
                "metadata": {"namespace": "vision", "name": name},
                "status": {"jobDeploymentStatus": state},
            }
            for name, state in self.jobs
        ]

    def close(self) -> None:
        pass


def of_namespace(op: str) -> ResourceChange:
    urn = f"urn:pulumi:local::muster::{NAMESPACE}::vision"
    return ResourceChange(op, NAMESPACE, urn, before={"metadata": {"name": "vision"}})


@pytest.mark.parametrize("op", ["delete", "replace"])
def test_a_namespace_with_jobs_is_not_deleted(
    op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Sandbox(("train", "Running"), ("ended", "Complete"))
    monkeypatch.setattr(kinds, "connect", lambda _kubeconfig: cluster)
    with pytest.raises(StepError, match="deletes namespace vision, including RayJob vision/train; nothing"):
        keep_jobs(RunState("mine", tmp_path), (of_namespace(op),))


@pytest.mark.parametrize(
    ("op", "jobs"),
    [
        pytest.param("update", [("train", "Running")], id="it stays"),
        pytest.param("delete", [("ended", "Complete"), ("bad", "Failed")], id="all jobs ended"),
        pytest.param("delete", [], id="no jobs"),
    ],
)
def test_other_plans_are_carried_out(
    op: str, jobs: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "connect", lambda _kubeconfig: Sandbox(*jobs))
    keep_jobs(RunState("mine", tmp_path), (of_namespace(op),))


def test_pods_of_a_deployment_keep_no_node() -> None:
    def pod(name: str, owner: str) -> dict[str, Any]:
        metadata = {"namespace": "a", "name": name, "ownerReferences": [{"kind": owner}]}
        return {"metadata": metadata, "spec": {"nodeName": "n"}}

    assert pods_on_nodes([pod("head", "RayCluster"), pod("web", "ReplicaSet")]) == {"n": ["a/head"]}
