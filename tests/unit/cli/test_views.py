"""`muster queues`, `queue`, `why` and `top`: tables, JSON, filters, exit codes, --watch, errors."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from muster.cli import main
from muster.cli.main import VERBS
from muster.cli.queue import age_range
from muster.cli.top import bar
from muster.cluster.jobs.kinds import BY_KIND
from muster.kube import kinds
from muster.kube.errors import Status, StatusError
from muster.kube.kinds import Kind
from muster.live.eta.growth_range import GrowthRange, annotation
from muster.live.eta.start_range import StartRange
from muster.live.observed import READ
from muster.objects.meta import Object, rfc3339
from muster.objects.names import BUDGETS, ETA_ANNOTATION, GROWTH_ETA_ANNOTATION, RECORDED_USAGE
from tests.simulation.manifests import GPU, local_stack, ray_job
from tests.unit.controller.builders import NOW_MS, Body, stored
from tests.unit.live.builders import running, since, waiting
from tests.unit.live.elastic import LIMITED, NOTICE, objects, running_elastic
from tests.unit.live.manifests import as_json, manifest
from tests.unit.live.pods import ago, container, ended, labelled, pod, waits
from tests.unit.live.running_cluster import Running

T = TypeVar("T", bound=Object)
DAY_MS = 86_400_000
STARTS = StartRange(NOW_MS, NOW_MS + 60_000, NOW_MS + 120_000, None, 20)
DEV = running(ray_job("dev", workers=1))
BORROWER = running(ray_job("borrower", namespace="team-b", workers=6))
BORROWER["status"]["admission"]["clusterQueue"] = "team-b"
URGENT = waiting(ray_job("urgent", priority="prod-priority"))
CHECKED = running(ray_job("checked", workers=1))
CHECKED["status"] |= {
    "conditions": [since("QuotaReserved", 20)],
    "admissionChecks": [{"name": "nodes", "state": "Pending", "message": "no nodes yet"}],
}


OVER = running(ray_job("over"))
OVER["status"]["conditions"].append(since("Finished", 5))
OVER["metadata"]["finalizers"] = []  # its pods are deleted


def cluster() -> dict[Kind[Any], list[Body]]:
    """A running gang, a borrower, one that waits for a check, three that wait, of which one has an estimate,
    and one that has ended."""
    job = ray_job("new")
    job["metadata"]["annotations"][ETA_ANNOTATION] = STARTS.annotation
    workloads = [
        DEV,
        BORROWER,
        CHECKED,
        waiting(job),
        URGENT,
        waiting(ray_job("huge", workers=9), "ExceedsMaxQuota"),
        OVER,
    ]
    return {**local_stack(check=False), kinds.WORKLOADS: workloads, kinds.RAY_JOBS: [stored(job)]}


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: NOW_MS * 1_000_000)


@pytest.fixture
def there(tmp_path: Path) -> str:
    """An option that names the manifests of the cluster."""
    path = tmp_path / "cluster.json"
    items = [manifest(kind, body) for kind, bodies in cluster().items() for body in bodies]
    path.write_text(json.dumps(as_json({"items": items})))
    return f"--queues={path}"


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines() if line.strip()]


def answered(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main([*arguments, "-o", "json"]) == code
    return json.loads(capsys.readouterr().out)


def test_queues_are_a_tree_with_quotas(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queues", there]) == 0
    title, *table_rows = rows(capsys.readouterr().out)
    assert title[-5:] == ["QUOTA", "USED", "BORROWED", "LENT", "DEMAND"]
    assert table_rows == [
        ["ml", "3", "3", "2", "l4", GPU, "8", "8", "0", "0", "17"],
        ["├─", "team-a", "Active", "3", "2", "1", "l4", GPU, "4", "2", "0", "2", "17"],
        ["└─", "team-b", "Active", "0", "1", "1", "l4", GPU, "4", "6", "2", "0", "0"],
    ]


def test_queues_have_budgets_with_usage_and_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = cluster()
    budget = [{"resource": GPU, "hours": 1, "period": "day"}]
    (queue, _) = objects[kinds.CLUSTER_QUEUES]
    usage = {"used": {"l4": {GPU: {str(NOW_MS // 3_600_000 - 1): 1800}}}}
    queue["metadata"]["annotations"] = {BUDGETS: json.dumps(budget), RECORDED_USAGE: json.dumps(usage)}
    path = tmp_path / "budgets.json"
    items = [manifest(kind, body) for kind, bodies in objects.items() for body in bodies]
    path.write_text(json.dumps(as_json({"items": items})))
    assert main(["queues", f"--queues={path}"]) == 0
    assert rows(capsys.readouterr().out)[-1][:5] == ["team-a", GPU, "all", "day", "hard"]
    (root,) = answered(capsys, "queues", f"--queues={path}")["queues"]
    (answer,) = root["children"][0]["budgets"]
    used_hours = answer.pop("usedHours")
    assert 0.5 < used_hours < 0.6  # the running gangs use some, too
    assert answer.pop("runsOut") > rfc3339(NOW_MS)
    assert answer.pop("runsOutBy") == "present rate"
    assert answer == {
        "resource": GPU,
        "flavor": "",
        "period": "day",
        "enforcement": "hard",
        "limitHours": 1.0,
        "committedHours": 0.0,
        "start": rfc3339(NOW_MS - NOW_MS % DAY_MS),
        "end": rfc3339(NOW_MS - NOW_MS % DAY_MS + DAY_MS),
    }


def test_wide_queues_have_every_resource(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queues", there, "-o", "wide", "--queue", "team-b"]) == 0
    output = capsys.readouterr().out
    assert "WEIGHT" in output
    assert [line for line in output.splitlines() if line != line.rstrip()] == []
    assert "64Gi" in output
    assert "team-a" not in output


def test_queues_of_a_namespace_are_those_of_its_local_queues(
    there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root,) = answered(capsys, "queues", there, "-n", "team-b")["queues"]
    assert [child["name"] for child in root["children"]] == ["team-b"]
    (root,) = answered(capsys, "queues", there, "-n", "team-b", "-A")["queues"]
    assert len(root["children"]) == 2
    assert answered(capsys, "queues", there, "-n", "other")["queues"] == []


def test_queue_lists_what_runs_and_what_waits(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "team-a", there]) == 0
    output = capsys.readouterr().out
    assert "ClusterQueue team-a: 3 pending, 2 hold quota, 1 of them admitted\n" in output
    jobs = [row for row in rows(output) if any(cell.startswith("rayjob/") for cell in row)]
    assert [row[:4] for row in jobs] == [
        ["rayjob/dev", "team-a", "Admitted", "100"],
        ["rayjob/checked", "team-a", "QuotaReserved", "100"],
        ["1", "rayjob/urgent", "team-a", "Pending"],
        ["2", "rayjob/huge", "team-a", "Pending"],
        ["3", "rayjob/new", "team-a", "Pending"],
    ]
    assert jobs[-1][-5:] == ["WaitingForQuota", "2m00s", "(1m00s", "to", "later)"]


@pytest.fixture
def scaled(tmp_path: Path) -> str:
    """An option that names the manifests of a cluster with an autoscaled job that shrinks."""
    bodies = {getattr(kinds, name): of for name, of in objects(asked=3, runs=3).items()}
    there = {**local_stack(check=False), kinds.WORKLOADS: [running_elastic(shrinking=True), DEV], **bodies}
    path = tmp_path / "scaled.json"
    items = [manifest(kind, body) for kind, of in there.items() for body in of]
    path.write_text(json.dumps(as_json({"items": items})))
    return f"--queues={path}"


def test_queue_counts_workers_of_autoscaled_jobs(scaled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "team-a", scaled]) == 0
    title, *jobs = [row for row in rows(capsys.readouterr().out) if "JOB" in row or "Admitted" in row]
    assert title[-1] == "GRANTED/ASKED/RUNNING"
    assert {row[0]: row[-2:] for row in jobs}["rayjob/scaled"] == ["Shrinking", "2/3/3"]
    assert all(row[-1] != "2/3/3" for row in jobs if row[0] != "rayjob/scaled")


def test_queue_shows_the_expected_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_kinds = objects(asked=3)
    (job,) = of_kinds["RAY_JOBS"]
    job["metadata"]["annotations"] = {GROWTH_ETA_ANNOTATION: annotation([GrowthRange("gpu", 2, 1, STARTS)])}
    there = {**local_stack(check=False), kinds.WORKLOADS: [running_elastic(), DEV]}
    there |= {getattr(kinds, name): of for name, of in of_kinds.items()}
    path = tmp_path / "scaled.json"
    path.write_text(
        json.dumps(as_json({"items": [manifest(k, body) for k, of in there.items() for body in of]}))
    )
    assert main(["queue", "team-a", f"--queues={path}"]) == 0
    assert "GrowthLimited  +1 in 2m00s (1m00s to later)  2/3/2" in capsys.readouterr().out
    computed = answered(capsys, "queue", "team-a", f"--queues={path}", "--eta", "--seeds=2")
    growth = {row["job"]: row["growth"] for row in computed["running"]}
    assert growth["rayjob/dev"] == []
    ((of_scaled),) = growth["rayjob/scaled"]
    assert (of_scaled["group"], of_scaled["granted"], of_scaled["workers"]) == ("gpu", 2, 1)
    assert of_scaled["time"]["p50"] == rfc3339(NOW_MS), "quota is free"


def test_why_has_the_notice_the_limit_and_the_groups(scaled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "rayjob/scaled", scaled, "-n", "team-a"]) == 0
    output = capsys.readouterr().out
    assert f"{NOTICE}.\n{LIMITED}.\n" in output
    assert "2 nvidia.com/gpu" in output.splitlines()[0]
    assert ["gpu", "1", "2", "3", "4"] in rows(output), "without RUNNING, as no pods are in the manifests"


def test_queue_estimates_starts_if_asked(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = answered(capsys, "queue", "team-a", there, "--eta", "--seeds=2")
    starts = {row["job"]: row["eta"] for row in document["waiting"]}
    assert starts["rayjob/huge"] | {"at": ""} == {
        "at": "",
        "p10": None,
        "p50": None,
        "p90": None,
        "futures": 2,
    }
    assert starts["rayjob/new"]["futures"] == 2
    assert [row["eta"] for row in document["running"]] == [None, None]


FILTERS: Mapping[str, tuple[list[str], set[str]]] = {
    "all of the namespace": ([], {"dev", "checked", "urgent", "huge", "new"}),
    "all namespaces": (["-A"], {"dev", "checked", "urgent", "huge", "new", "borrower"}),
    "another namespace": (["-n", "team-b"], {"borrower"}),
    "a phase": (["--status", "admitted"], {"dev"}),
    "two phases": (["--status", "Admitted", "--status", "QuotaReserved"], {"dev", "checked"}),
    "a class": (["--class", "prod-priority"], {"urgent"}),
    "a ClusterQueue": (["-A", "--queue", "team-b"], {"borrower"}),
    "a LocalQueue": (["-A", "--queue", "team-b/user-queue"], {"borrower"}),
    "a LocalQueue of any namespace": (["--queue", "user-queue", "--status", "Admitted"], {"dev"}),
    "a class and a phase": (["--class", "prod-priority", "--status", "Admitted"], set()),
    "older ones": (["--age", ">1m"], {"dev", "checked", "urgent", "huge", "new"}),
    "younger ones": (["--age", "<30s"], set()),
}


@pytest.mark.parametrize("name", FILTERS)
def test_workloads_are_filtered(name: str, there: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, expected = FILTERS[name]
    namespace = [] if "-n" in arguments else ["-n", "team-a"]
    document = answered(capsys, "queue", there, *namespace, *arguments)
    assert {row["job"].removeprefix("rayjob/") for row in document["workloads"]} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", (7_200, float("inf"))),
        (">1d", (86_400, float("inf"))),
        ("<30m", (0, 1_800)),
        ("0s", (0, float("inf"))),
    ],
)
def test_ages(text: str, expected: tuple[float, float]) -> None:
    assert age_range(text) == expected


@pytest.mark.parametrize("text", ["", "2", "h", ">=2h", "2w", "-2h"])
def test_a_text_that_is_no_age_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", f"--age={text}"]) == 2
    assert "expected an age such as >2h (older) or <30m (younger)" in capsys.readouterr().err


WHY = {
    "it waits": ("rayjob/new", 4, "It waits in ClusterQueue team-a. Reason: "),
    "it can never be admitted": (
        "rayjob/huge",
        5,
        "It cannot be admitted in its current form. Reason: needs 9 ",
    ),
    "it preempts": ("rayjob/urgent", 0, "It fits in ClusterQueue team-a now by preempting 3 workloads."),
    "it runs": ("rayjob/dev", 0, "Admitted by ClusterQueue team-a at "),
    "it waits for checks": ("rayjob/checked", 0, "It waits for its admission checks: nodes: no nodes yet."),
    "it has ended": ("rayjob/over", 0, "Finished at "),
    "there is no such job": ("rayjob/no", 2, ""),
}


@pytest.mark.parametrize("name", WHY)
def test_why_has_an_exit_code_for_each_answer(
    name: str, there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job, code, sentence = WHY[name]
    assert main(["why", job, "-n", "team-a", there]) == code
    output = capsys.readouterr().out
    assert sentence in output
    assert ", ," not in output


def test_why_tells_what_is_ahead_and_what_it_would_preempt(
    there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["why", "rayjob/urgent", "-n", "team-a", there])
    output = capsys.readouterr().out
    assert "rayjob/urgent (Workload team-a/rayjob-urgent-" in output
    assert "Pending, number 1 in the queue; priority 1000, 4 nvidia.com/gpu, created 1m00s ago" in output
    assert ["rayjob/dev", "team-a", "team-a", "100", "InClusterQueue"] in rows(output)
    document = answered(capsys, "why", "rayjob/new", "-n", "team-a", there, code=4)
    assert [row["job"] for row in document["ahead"]] == ["rayjob/urgent", "rayjob/huge"]
    assert document["workload"]["eta"]["futures"] == 20
    main(["why", "rayjob/huge", "-n", "team-a", there, "-o", "wide"])
    output = capsys.readouterr().out
    assert (
        "It can be admitted once all of these hold:\n- ClusterQueue team-a gets 5 more nvidia.com/gpu of "
        "flavor l4" in output
    )
    assert "Missing quota" in output
    assert "as before" in output


CRASHING = container(waits("CrashLoopBackOff"), ended(137, "OOMKilled"), restartCount=3)
CRASHED = (
    "Container ray-worker of pod w-1 is in a crash loop (CrashLoopBackOff): it last was OOM-killed "
    f"(memory limit 2Gi) at {ago(60)}; restarts: 3."
)
CRASHING_POD = pod("w-1", CRASHING, labels=labelled(DEV["metadata"]["uid"]))


def test_why_explains_pods_that_do_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, asked = of_cluster(
        monkeypatch, "why", "rayjob/dev", "-n", "team-a", objects={kinds.DETAILED_PODS: [CRASHING_POD]}
    )
    assert (code, asked.closed) == (0, True)
    _, admitted, problem, *_ = capsys.readouterr().out.splitlines()
    assert admitted.startswith("Admitted by ClusterQueue team-a at ")
    assert problem == CRASHED


def test_why_gives_programs_the_problems_of_pods(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("why", "rayjob/dev", "-n", "team-a", "-o", "json")
    of_cluster(monkeypatch, *arguments, objects={kinds.DETAILED_PODS: [CRASHING_POD]})
    document = json.loads(capsys.readouterr().out)
    (problem,) = document["podProblems"]
    assert (problem["sentence"], problem["pods"], problem["restarts"]) == (CRASHED, ["w-1"], 3)
    assert document["podsUnread"] == ""


def test_why_reads_pods_from_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.json"
    bodies = {**cluster(), kinds.DETAILED_PODS: [CRASHING_POD]}
    items = [manifest(kind, body) for kind, of_kind in bodies.items() for body in of_kind]
    path.write_text(json.dumps(as_json({"items": items})))
    assert main(["why", "rayjob/dev", "-n", "team-a", f"--queues={path}"]) == 0
    assert CRASHED in capsys.readouterr().out


def test_pods_that_may_not_be_listed_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert of_cluster(monkeypatch, "why", "rayjob/dev", "-n", "team-a", Pod=403)[0] == 0
    output = capsys.readouterr().out
    assert "The state of its pods is unknown: you may not list pods in namespace team-a." in output


def test_pods_of_a_pending_workload_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    code, asked = of_cluster(monkeypatch, "why", "rayjob/new", "-n", "team-a")
    assert (code, "Pod" in asked.listed) == (4, False)


def test_top_has_flavors_and_teams(there: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", there]) == 0
    table_rows = rows(capsys.readouterr().out)
    assert ["l4", GPU, "█" * 20, "100%", "8", "8", "3"] in table_rows
    assert ["team-a", "2", "3", "2", GPU, "17", GPU, "1m00s"] in table_rows
    teams = answered(capsys, "top", there, "-n", "team-b")["teams"]
    assert [team["namespace"] for team in teams] == ["team-b"]


@pytest.mark.parametrize(
    ("used", "quota", "expected"),
    [
        (0, 4, "░" * 20 + " 0%"),
        (1, 4, "█" * 5 + "░" * 15 + " 25%"),
        (6, 4, "█" * 20 + " 150%"),
        (0, 0, ""),
        (2, 0, "beyond quota"),
    ],
)
def test_bars(used: int, quota: int, expected: str) -> None:
    assert bar(used, quota) == expected


@pytest.mark.parametrize("verb", ["queues", "queue", "top"])
def test_yaml_says_the_same_as_json(verb: str, there: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = answered(capsys, verb, there)
    assert main([verb, there, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == expected


@pytest.mark.parametrize(("terminal", "colored"), [(True, True), (False, False)])
def test_colors_are_for_terminals(
    terminal: bool,
    colored: bool,
    there: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert main(["queues", there]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is terminal


def test_names_are_not_cut_on_narrow_terminals(
    there: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["queue", "team-a", there]) == 0
    assert "…" not in capsys.readouterr().out


def test_watch_shows_each_state_until_it_is_interrupted(
    there: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", pause)
    assert main(["queues", there, "--watch", "--interval=7", "-o", "yaml"]) == 130
    shown = list(yaml.safe_load_all(capsys.readouterr().out))
    assert (paused, len(shown)) == ([7, 7, 7], 3)
    assert shown[0] == shown[2]


def of_cluster(
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
    objects: Mapping[Kind[Any], list[Body]] | None = None,
    **codes: int,
) -> tuple[int, Running]:
    asked = Running({**cluster(), **(objects or {})}, **codes)
    monkeypatch.setattr("muster.cli.live.Kube", asked)
    return main([*arguments]), asked


def test_a_cluster_is_asked_in_the_context(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, asked = of_cluster(monkeypatch, "queues", "--context=far", "--kubeconfig=mine")
    assert (code, asked.kubeconfig, asked.context, asked.closed) == (0, "mine", "far", True)
    assert sorted(asked.listed) == sorted([*map(str, READ), *map(str, BY_KIND)])
    assert capsys.readouterr().err == ""


def test_kinds_that_are_not_needed_may_be_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert of_cluster(monkeypatch, "top", RayJob=404, RayService=403, Namespace=403)[0] == 0
    output = capsys.readouterr()
    assert "team-a" in output.out
    assert output.err == "muster top: assuming no Namespace: you may not list namespaces\n"


NO_QUEUES = "ClusterQueue (kueue.x-k8s.io/v1beta2): you may not list clusterqueues.kueue.x-k8s.io; "
NO_WORKLOADS = "Workload (kueue.x-k8s.io/v1beta2): you may not list workloads.kueue.x-k8s.io in "
DENIED = {
    "queues": (["queues"], f"{NO_QUEUES}{NO_WORKLOADS}all namespaces"),
    "top": (["top", "-n", "team-a"], f"{NO_QUEUES}{NO_WORKLOADS}all namespaces"),
    "queue of all namespaces": (["queue", "-A"], f"{NO_QUEUES}{NO_WORKLOADS}all namespaces"),
    "queue": (["queue", "-n", "team-a"], f"{NO_WORKLOADS}namespace team-a"),
    "why": (["why", "rayjob/a"], f"{NO_WORKLOADS}namespace default"),
}


@pytest.mark.parametrize("name", DENIED)
def test_missing_rights_are_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, message = DENIED[name]
    assert of_cluster(monkeypatch, *arguments, Workload=403, ClusterQueue=403)[0] == 2
    assert capsys.readouterr().err == f"muster {arguments[0]}: {message}\n"


class OfTenant(Running):
    """A cluster as a tenant of team-a sees it: cluster-scoped kinds, and the namespace."""

    async def list(
        self, kind: Kind[T], labels: Mapping[str, str | None] | None = None, namespace: str = ""
    ) -> tuple[str, list[T]]:
        if kind.namespaced and namespace != "team-a":
            raise StatusError(Status(code=403, message="no"))
        version, listing = await super().list(kind, labels, namespace)
        return version, [result for result in listing if result.metadata.namespace in ("", "team-a")]


def as_tenant(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("muster.cli.live.Kube", OfTenant(cluster()))
    return main([*arguments, "-n", "team-a"])


def test_a_tenant_sees_its_own_workloads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert as_tenant(monkeypatch, "queue", "user-queue", "-o", "json") == 0
    output = capsys.readouterr()
    assert "muster queue: you may only read namespace team-a" in output.err
    document = json.loads(output.out)
    assert document["quota"] is None
    assert len(document["running"]) == 2
    assert {row["job"]: row["position"] for row in document["waiting"]} == {
        "rayjob/urgent": None,
        "rayjob/huge": None,
        "rayjob/new": None,
    }
    assert any(row["eta"] for row in document["waiting"])


@pytest.mark.parametrize(
    ("job", "code", "sentence"),
    [
        ("rayjob/new", 4, "It waits in ClusterQueue team-a. Reason: as before."),
        ("rayjob/huge", 5, "It cannot be admitted in its current form. Reason: as before."),
        ("rayjob/dev", 0, "Admitted by ClusterQueue team-a at "),
    ],
)
def test_a_tenant_is_told_the_last_decision(
    job: str,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert as_tenant(monkeypatch, "why", job) == code
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["queue", "x"], "no ClusterQueue or LocalQueue 'x'; expected one of: team-a, team-b"),
        (["queues", "--queue", "x"], "no ClusterQueue or Cohort x"),
        (["why", "x"], "'x': expected KIND/NAME, such as rayjob/train"),
        (["queue", "--status", "Gone"], "'Gone' is not one of"),
    ],
)
def test_unknown_names_are_refused(
    arguments: list[str], message: str, there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {arguments[0]} <= set(VERBS)
    assert main([*arguments, there]) == 2
    assert message in capsys.readouterr().err
