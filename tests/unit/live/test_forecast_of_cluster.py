"""`muster forecast --cluster`: a trace under the queues of a running cluster."""

import json
from pathlib import Path

import pytest

from muster.cli import main
from muster.kube import kinds
from muster.kube.errors import ConfigError
from muster.live.observed import QUEUE_KINDS
from tests.simulation.manifests import local_stack
from tests.unit.live.manifests import as_json, manifest
from tests.unit.live.running_cluster import Running

TRACE = """name,submit_seconds,run_seconds,pods,queue,priority_class,nvidia.com/gpu
one,0,1000,4,team-a/user-queue,dev-priority,1
two,1,1000,4,team-a,prod-priority,1
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return f"--trace={path}"


def forecast_of(running: Running, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("muster.cli.live.Kube", running)
    return main(["forecast", "--cluster", "--seeds=2", "--json", *arguments])


def test_forecast_of_a_cluster_is_that_of_its_manifests(
    monkeypatch: pytest.MonkeyPatch, trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = local_stack()
    running = Running(stack)
    assert forecast_of(running, monkeypatch, trace, "--kubeconfig=mine", "--context=other") == 0
    of_cluster = json.loads(capsys.readouterr().out)
    assert (running.kubeconfig, running.context, running.closed) == ("mine", "other", True)
    items = [manifest(kind, body) for kind, bodies in stack.items() for body in bodies]
    (tmp_path / "queues.json").write_text(json.dumps(as_json({"items": items})))
    assert main(["forecast", f"--queues={tmp_path}/queues.json", "--seeds=2", "--json", trace]) == 0
    of_manifests = json.loads(capsys.readouterr().out)
    assert of_cluster["futures"] == of_manifests["futures"]
    assert of_cluster["futures"][0]["waits"][0]["count"] == 2


def test_only_what_a_forecast_needs_is_listed(monkeypatch: pytest.MonkeyPatch, trace: str) -> None:
    running = Running(local_stack(), Workload=403)
    assert forecast_of(running, monkeypatch, trace) == 0
    assert sorted(running.listed) == sorted(map(str, QUEUE_KINDS))


def test_namespaces_that_queues_select_do_not_matter_to_a_trace(
    monkeypatch: pytest.MonkeyPatch, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = local_stack()
    selecting = [
        {**queue, "spec": {**queue["spec"], "namespaceSelector": {"matchLabels": {"team": "a"}}}}
        for queue in stack[kinds.CLUSTER_QUEUES]
    ]
    assert forecast_of(Running({**stack, kinds.CLUSTER_QUEUES: selecting}), monkeypatch, trace) == 0
    (whole, *_) = json.loads(capsys.readouterr().out)["futures"][0]["waits"]
    assert whole["never"] == 0


def test_kinds_that_the_cluster_does_not_serve_are_told(
    monkeypatch: pytest.MonkeyPatch, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    running = Running(local_stack(check=False), ProvisioningRequestConfig=404)
    assert forecast_of(running, monkeypatch, trace) == 0
    assert (
        "assuming no ProvisioningRequestConfig: the API server does not serve this kind"
        in capsys.readouterr().err
    )


def test_cluster_without_queues_is_refused(
    monkeypatch: pytest.MonkeyPatch, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forecast_of(Running({}), monkeypatch, trace) == 2
    assert "the cluster: no ClusterQueue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (
            {"ClusterQueue": 403},
            "ClusterQueue (kueue.x-k8s.io/v1beta2): you may not list clusterqueues.kueue.x-k8s.io",
        ),
        ({"Cohort": 500}, "the API server refused: no"),
    ],
)
def test_cluster_that_does_not_tell_is_explained(
    codes: dict[str, int],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    trace: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert forecast_of(Running(local_stack(), **codes), monkeypatch, trace) == 2
    assert message in capsys.readouterr().err


def test_missing_kubeconfig_is_explained(
    monkeypatch: pytest.MonkeyPatch, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(kubeconfig: str | None, *, context: str | None) -> None:
        raise ConfigError("no configuration found")

    monkeypatch.setattr("muster.cli.live.Kube", missing)
    assert main(["forecast", "--cluster", trace]) == 2
    assert "no configuration found; give --kubeconfig FILE, or --queues PATH" in capsys.readouterr().err
