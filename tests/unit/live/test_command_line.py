"""`muster try` and `muster eta` on manifests: what they print, and their exit codes."""

import io
import json
from pathlib import Path

import pytest
import yaml

from muster.cli import main
from muster.kube import kinds
from muster.objects.names import MAX_EXEC_TIME_LABEL
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import NOW_MS, Body, workload_body
from tests.unit.live.builders import RAY_JOB, finished, running, waiting
from tests.unit.live.elastic import elastic, running_elastic, waiting_elastic
from tests.unit.live.manifests import as_json, manifest

FIXED = ("--assume", "start_up_s=30", "--assume", "cleanup_s=2", "--assume", "limit_share=1")
"""Delays that do not vary, and jobs that run until their declared limit."""

DEV, NEW = running(ray_job("dev"), maximumExecutionTimeSeconds=300), waiting(ray_job("new"))


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)


def queues(folder: Path, *workloads: Body, check: bool = False) -> str:
    """Writes the cluster of stack `local` with these Workloads, by default without its admission check."""
    stack = {**local_stack(check=check), kinds.WORKLOADS: workloads}
    path = folder / "queues.json"
    items = [manifest(kind, body) for kind, bodies in stack.items() for body in bodies]
    path.write_text(json.dumps(as_json({"items": items})))
    return str(path)


def job_file(folder: Path, *documents: object) -> str:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_job_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train")})
    assert main(["try", "-f", file, "--queues", queues(tmp_path), *FIXED]) == 0
    output = capsys.readouterr().out
    assert "RayJob team-a/train fits now: it would get quota in ClusterQueue team-a immediately." in output
    assert "Start: in 30s (8s to 1m19s), at " in output  # nothing was learned yet
    assert "within 30 days in 20 of 20 futures" in output
    assert "cpu 8, memory 16Gi, nvidia.com/gpu 4" in output
    assert "- no other job is submitted" in output


def test_autoscaled_job_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **elastic(replicas=9, most=12)})
    assert main(["try", "-f", file, "--queues", queues(tmp_path)]) == 0
    sentence = "Group gpu starts with 1 worker of the 9 that it asks for, and grows to 4 right after."
    assert f"immediately.\n{sentence}\nStart: " in capsys.readouterr().out
    assert main(["try", "-f", file, "--queues", queues(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["growth"] == [{"group": "gpu", "minimum": 1, "asked": 9, "fits": 4, "queued": False}]


def test_job_that_preempts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train", priority="prod-priority")})
    assert main(["try", "-f", file, "--queues", queues(tmp_path, DEV)]) == 0
    output = capsys.readouterr().out
    assert "fits now: it would preempt one workload and get quota in ClusterQueue team-a." in output
    assert DEV["metadata"]["name"] in output
    assert "InClusterQueue" in output


def test_job_that_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train")})
    assert main(["try", "-f", file, "--queues", queues(tmp_path, DEV), *FIXED]) == 4
    output = capsys.readouterr().out
    assert "would wait in ClusterQueue team-a. Reason: needs 4 nvidia.com/gpu" in output
    assert "Start: in 4m3" in output  # 240 s are left of the run time, and its pods have to leave and start
    assert "Missing quota" in output
    assert "- run times of other workloads: 1 a fixed share of their declared limit" in output


def test_job_that_never_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train", workers=5)})
    assert main(["try", "-f", file, "--queues", queues(tmp_path)]) == 5
    output = capsys.readouterr().out
    assert "RayJob team-a/train cannot be admitted in its current form. Reason: " in output
    assert "Start:" not in output


def test_answer_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train")})
    assert main(["try", "-f", file, "--queues", queues(tmp_path, DEV), "--json", "--seeds", "3", *FIXED]) == 4
    answer = json.loads(capsys.readouterr().out)
    assert answer["answer"] == "waits"
    assert answer["reason"] == "QUOTA"
    assert answer["shortfalls"][0] | {"available": ""} == {
        "flavor": "l4",
        "resource": "nvidia.com/gpu",
        "needed": "4",
        "available": "",
        "missing": "4",
        "availableMax": "4",
    }
    assert answer["start"]["futures"] == answer["start"]["started"] == answer["start"]["agreeing"] == 3
    wait_s = answer["start"]["waitSeconds"]
    assert wait_s["p10"] < wait_s["p50"] < wait_s["p90"]
    assert answer["start"]["runTimes"] == {"fixed": 1}


def test_job_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(yaml.safe_dump({**RAY_JOB, **ray_job("train")})))
    assert main(["try", "-f", "-", "--queues", queues(tmp_path)]) == 0
    assert "RayJob team-a/train fits now" in capsys.readouterr().out


def test_history_of_a_trace_gives_run_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "past.csv"
    columns = "name,submit_seconds,run_seconds,pods,cpu,memory,nvidia.com/gpu,google.com/tpu,queue"
    rows = "".join(f"past-{n},0,7200,1,1,1Gi,4,0,team-a,,\n" for n in range(6))
    trace.write_text(f"{columns},priority_class,user\n{rows}")
    file = job_file(tmp_path, {**RAY_JOB, **ray_job("train")})
    cluster = queues(tmp_path, running(ray_job("dev"), 3_600))
    assert main(["try", "-f", file, "--queues", cluster, "--history", str(trace)]) == 4
    output = capsys.readouterr().out
    assert "1 learned from past jobs (6 past jobs with a run time)" in output


BAD: dict[str, tuple[list[object], str]] = {
    "several documents": (
        [{**RAY_JOB, **ray_job("one")}, {**RAY_JOB, **ray_job("two")}],
        "2 documents; expected one, of the job to try",
    ),
    "no document": ([], "0 documents; expected one, of the job to try"),
    "no mapping": (["RayJob"], "expected a mapping with apiVersion, kind, metadata and spec"),
    "another kind": (
        [{"apiVersion": "v1", "kind": "Pod"}],
        "v1 Pod: expected one of Job of batch/v1; JobSet of jobset.x-k8s.io/v1alpha2; "
        "LeaderWorkerSet of leaderworkerset.x-k8s.io/v1; RayCluster",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_file_that_is_no_job(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents, message = BAD[name]
    assert main(["try", "-f", job_file(tmp_path, *documents), "--queues", queues(tmp_path)]) == 2
    output = capsys.readouterr().err
    assert output.startswith("muster try: ")
    assert message in output


def test_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "-f", str(tmp_path / "no.yaml"), "--queues", queues(tmp_path)]) == 2
    assert "No such file or directory; expected a file with the job's manifest" in capsys.readouterr().err


def test_without_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "no-kubeconfig"))
    assert main(["try", "-f", job_file(tmp_path, {**RAY_JOB, **ray_job("train")})]) == 2
    assert "give --kubeconfig FILE, or --queues PATH" in capsys.readouterr().err


def eta(tmp_path: Path, job: str, *workloads: Body, options: tuple[str, ...] = ()) -> int:
    return main(["eta", job, "-n", "team-a", "--queues", queues(tmp_path, *workloads), *options])


def test_estimated_start_of_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta(tmp_path, "rayjob/new", DEV, NEW, options=FIXED) == 0
    output = capsys.readouterr().out
    assert f"Workload team-a/{NEW['metadata']['name']}. Start: in 4m3" in output
    assert "- run times of other workloads: 1 a fixed share of their declared limit" in output


def test_estimate_says_where_nothing_was_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta(tmp_path, "rayjob/new", NEW) == 0
    assert "- gangs start 3s to 1m54s (nothing was learned yet: wide range) after" in capsys.readouterr().out
    assert eta(tmp_path, "rayjob/new", DEV, NEW) == 0
    assert "as there are few past jobs (wide range)" in capsys.readouterr().out


def test_estimated_start_of_an_autoscaled_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta(tmp_path, "rayjob/scaled", DEV, waiting_elastic(replicas=3)) == 0
    output = capsys.readouterr().out
    assert "Start: in " in output
    assert "\nGroup gpu starts with 1 worker of the 3 that it asks for.\nGrowth of group gpu bey" in output


LONG = running(ray_job("dev", workers=2), maximumExecutionTimeSeconds=3_600)


def test_estimated_growth_of_an_autoscaled_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scaled = running_elastic(granted=2, replicas=4)
    scaled["spec"]["maximumExecutionTimeSeconds"] = 86_400
    assert eta(tmp_path, "rayjob/scaled", LONG, scaled, options=FIXED) == 0
    output = capsys.readouterr().out
    assert ": Running since 2027-01-15T07:59:00Z.\nGrowth of group gpu beyond 2 workers: 2 m" in output
    assert "within 30 days in 20 of 20 futures.\n\nAssumed:" in output
    assert "- autoscaled gangs ask until they end for the workers that they ask for now" in output
    assert eta(tmp_path, "rayjob/scaled", LONG, scaled, options=(*FIXED, "--json")) == 0
    (growth,) = json.loads(capsys.readouterr().out)["nextGrowth"]
    assert (growth["group"], growth["granted"], growth["workers"]) == ("gpu", 2, 2)
    assert growth["time"]["p50"] == "2027-01-15T08:59:02Z"


def test_autoscaled_job_that_asks_for_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta(tmp_path, "rayjob/scaled", running_elastic(granted=2, replicas=2), options=FIXED) == 0
    assert capsys.readouterr().out.endswith("\nIt asks for no more workers.\n")


def test_try_estimates_growth_beyond_what_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = elastic(replicas=4)
    job["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = "86400"
    file = job_file(tmp_path, {**RAY_JOB, **job})
    assert main(["try", "-f", file, "--queues", queues(tmp_path, LONG), *FIXED]) == 0
    output = capsys.readouterr().out
    assert "and grows to 2 right after.\nStart: in 30s" in output
    assert "\nGrowth of group gpu beyond 2 workers: 2 more in 59m02s (59m02s to 59m02s), at " in output


def test_try_estimates_the_nodes_of_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gang's nodes take ten minutes, and so do those of its growth."""
    job = elastic(replicas=4)
    job["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = "86400"
    file = job_file(tmp_path, {**RAY_JOB, **job})
    nodes = ("--assume", "provisioning_median_s=600", "--assume", "provisioning_spread=0")
    assert main(["try", "-f", file, "--queues", queues(tmp_path, check=True), *FIXED, *nodes]) == 0
    output = capsys.readouterr().out
    assert "and grows to 4 once the nodes are provisioned.\nStart: in 10m30s" in output
    assert "\nGrowth of group gpu beyond 1 worker: 3 more in 20m30s (20m30s to 20m30s), at " in output


def test_estimated_start_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = NEW["metadata"]["name"]
    assert eta(tmp_path, f"workload/{name}", DEV, NEW, options=("--json", "--seeds", "2")) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["workload"] == f"team-a/{name}"
    assert answer["start"]["started"] == 2


INACTIVE = waiting(ray_job("new"))
INACTIVE["spec"]["active"] = False
ETA_CASES: dict[str, tuple[str, tuple[Body, ...], int, str]] = {
    "it runs": ("rayjob/dev", (DEV,), 0, ": Running since 2027-01-15T"),
    "it has ended": ("rayjobs/dev", (finished(ray_job("dev")),), 0, ": Finished at 2027-01-15T"),
    "it is too large": (
        "rayjob/new",
        (waiting(ray_job("new", workers=5)),),
        5,
        "Start: not within 30 days",
    ),
    "it is misconfigured": (
        "rayjob/new",
        (waiting(ray_job("new"), "Misconfigured"),),
        5,
        "cannot be admitted in its current form. Reason: as before.",
    ),
    "it is deactivated": ("rayjob/new", (INACTIVE,), 5, "Reason: it is deactivated."),
}


@pytest.mark.parametrize("name", ETA_CASES)
def test_start_that_needs_no_estimate(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, workloads, code, message = ETA_CASES[name]
    assert eta(tmp_path, job, *workloads) == code
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("new", "'new': expected KIND/NAME, such as rayjob/train"),
        ("rayjob/other", "namespace team-a has no Workload of rayjob/other; expected one of: rayjob/new"),
        ("raycluster/new", "has no Workload of raycluster/new; expected one of: rayjob/new"),
    ],
)
def test_job_that_is_not_there(
    job: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert eta(tmp_path, job, NEW) == 2
    assert message in capsys.readouterr().err


def test_last_workload_of_a_job_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older = finished(ray_job("new"))
    later = workload_body(
        ray_job("new"), name="rayjob-new-later", uid="later", creationTimestamp="2027-01-15T08:00:00Z"
    )
    assert eta(tmp_path, "rayjob/new", older, later, options=FIXED) == 0
    assert "Workload team-a/rayjob-new-later. Start: in 30s" in capsys.readouterr().out
