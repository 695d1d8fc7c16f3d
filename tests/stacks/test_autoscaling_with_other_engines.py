"""Autoscaled Ray objects with the policies of engines kueue and kai, on an API server without the engine."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from preview.pulumi_cli import SAVED_ONCE, PulumiCli
from sandbox.cluster.control_plane import create_crds, start_control_plane, wait_for_quotas
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.stack_file import SOURCE, STACK, read
from tests.stacks.autoscaler_rights import account, by_kuberay
from tests.stacks.conftest import STAND_INS
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest, Patch, Target
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    QUEUE,
    create,
    of_schedule,
    ray_cron_job,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    refused_patch,
)
from tools.toolchain.crds import ensure_crds
from tools.toolchain.paths import RunState

pytestmark = pytest.mark.thorough

SPECS = {"RayJob": "rayClusterSpec", "RayCluster": "", "RayService": "rayClusterConfig"}
KINDS = {"RayJob": rayjob, "RayCluster": raycluster, "RayService": rayservice}
ELASTIC = "kueue.x-k8s.io/elastic-job"  # an annotation of Kueue, and its scheduling gate
GATES = [{"name": ELASTIC}]
KAI_QUEUE = "kai.scheduler/queue"

Folders = pytest.TempPathFactory


class Deployment:
    """Stack local for an engine, on its own API server."""

    def __init__(self, engine: str, server: Kubectl, pulumi: Path, folder: Path) -> None:
        self.engine, self.server, self._file = engine, server, folder / SOURCE.name
        env = {"KUBECONFIG": str(server.kubeconfig), **SAVED_ONCE}
        self._cli = PulumiCli(pulumi, folder, env=env, choices=STAND_INS)

    def up(self, *, mutating: bool = True) -> None:
        """Deploys it; `mutating`: with MutatingAdmissionPolicies."""
        stack_file = read(self.engine)
        stack_file.content["config"]["muster:cluster"]["servesMutatingPolicies"] = mutating
        stack_file.write(self._file)
        self._cli.select(STACK, self._file).up()


@contextmanager
def deployed(engine: str, tools: dict[str, Path], folders: Folders) -> Iterator[Deployment]:
    state = RunState(engine, checkout=folders.mktemp(engine))
    processes = Processes(state)
    try:
        server = start_control_plane(state, processes, tools)
        create_crds(server, ensure_crds(engine))
        deployment = Deployment(engine, server, tools["pulumi"], folders.mktemp("pulumi"))
        deployment.up()
        wait_for_quotas(server)
        yield deployment
    finally:
        processes.stop_everything()


@pytest.fixture(scope="module")
def deployment(tools: dict[str, Path], tmp_path_factory: Folders) -> Iterator[Deployment]:
    with deployed("kueue", tools, tmp_path_factory) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def kueue(deployment: Deployment) -> Kubectl:
    """Engine kueue, with an autoscaled RayCluster."""
    server = deployment.server
    for make in KINDS.values():
        wait_until("annotations", partial(is_annotated, server, make()), EFFECT_SECONDS_MAX)
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(autoscaled(raycluster("elastic"), GATES)))
    server.create(by_kuberay("elastic", "elastic"))
    return server


@pytest.fixture
def older(deployment: Deployment) -> Iterator[Kubectl]:
    """Engine kueue in a cluster without MutatingAdmissionPolicy."""
    deployment.up(mutating=False)
    try:
        wait_for_refusals(deployment.server, raycluster())
        yield deployment.server
    finally:
        deployment.up()


@pytest.fixture(scope="module")
def kai(tools: dict[str, Path], tmp_path_factory: Folders) -> Iterator[Kubectl]:
    """Engine kai, with an autoscaled RayCluster."""
    with deployed("kai", tools, tmp_path_factory) as deployment:
        server = deployment.server
        for make in KINDS.values():
            wait_for_refusals(server, resized(autoscaled(make()), replicas=0))
        server.run("create", "-f", "-", *ALICE, stdin=json.dumps(autoscaled(raycluster("elastic"))))
        yield server


def wait_for_refusals(server: Kubectl, manifest: Manifest) -> None:
    """Waits until the API server enforces the policies."""
    wait_until("refusals", lambda: refusal(server, ALICE, manifest) != "", EFFECT_SECONDS_MAX)


def is_annotated(server: Kubectl, manifest: Manifest) -> bool:
    return annotation_of(create(server, ALICE, autoscaled(manifest))) == "true"


def annotation_of(manifest: Manifest) -> str | None:
    annotations: dict[str, str] = manifest["metadata"].get("annotations", {})
    return annotations.get(ELASTIC)


def spec_of(manifest: Manifest) -> dict[str, Any]:
    path = SPECS[manifest["kind"]]
    spec: dict[str, Any] = manifest["spec"][path] if path else manifest["spec"]
    return spec


def autoscaled(manifest: Manifest, gates: list[dict[str, str]] | None = None) -> Manifest:
    """Returns it with Ray's autoscaler, and with the gates that Kueue's webhooks put into the pods of
    RayClusters and RayServices."""
    manifest = resized(manifest, replicas=2, minReplicas=1, maxReplicas=4)
    spec = spec_of(manifest)
    spec["enableInTreeAutoscaling"] = True
    for part in (spec["headGroupSpec"], *spec["workerGroupSpecs"]) if gates else ():
        part["template"]["spec"]["schedulingGates"] = gates
    return manifest


def resized(manifest: Manifest, **sizes: int) -> Manifest:
    manifest = copy.deepcopy(manifest)
    for group in spec_of(manifest)["workerGroupSpecs"]:
        group |= sizes
    return manifest


def suspended(manifest: Manifest) -> Manifest:
    manifest = copy.deepcopy(manifest)
    manifest["spec"]["suspend"] = True
    return manifest


def annotated(manifest: Manifest, value: str = "true") -> Manifest:
    manifest = copy.deepcopy(manifest)
    manifest["metadata"].setdefault("annotations", {})[ELASTIC] = value
    return manifest


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gates", [[], GATES], ids=["without gates", "with Kueue's gates"])
def test_kueue_gets_autoscaled_objects_as_elastic_jobs(
    kueue: Kubectl, kind: str, gates: list[dict[str, str]]
) -> None:
    accepted = create(kueue, ALICE, autoscaled(KINDS[kind](), gates))
    assert annotation_of(accepted) == "true"
    assert spec_of(accepted).get("suspend") or accepted["spec"]["suspend"]


@pytest.mark.parametrize("kind", KINDS)
def test_kueue_gets_other_objects_as_they_are(kueue: Kubectl, kind: str) -> None:
    assert annotation_of(create(kueue, ALICE, KINDS[kind]())) is None


@pytest.mark.parametrize("elastic", [True, False], ids=["autoscaled", "of a fixed size"])
def test_kueue_gets_rayjobs_of_schedules(kueue: Kubectl, elastic: bool) -> None:
    template = autoscaled(rayjob())["spec"] if elastic else {}
    scheduled = create(kueue, ALICE, ray_cron_job(**template))
    job = create(kueue, ADMIN, of_schedule(scheduled))
    assert annotation_of(scheduled) == annotation_of(job) == ("true" if elastic else None)
    assert job["metadata"]["labels"][QUEUE] == "user-queue"
    assert job["spec"]["suspend"] is True


def test_older_clusters_refuse_schedules(older: Kubectl) -> None:
    assert "Kubernetes before 1.36 can't label them" in refusal(older, ALICE, ray_cron_job())


def test_kai_refuses_schedules(kai: Kubectl) -> None:
    assert "with engine kai nothing labels them" in refusal(kai, ALICE, ray_cron_job())


GATED = "remove schedulingGates"
REFUSED_BY_KUEUE: dict[str, tuple[Manifest, str]] = {
    "another gate": (autoscaled(raycluster(), [{"name": "example.com/wait"}]), GATED),
    "Kueue's gate and another": (autoscaled(raycluster(), [*GATES, {"name": "example.com/wait"}]), GATED),
    "Kueue's gate on a cluster of one size": (
        {
            **autoscaled(raycluster(), GATES),
            "spec": autoscaled(raycluster(), GATES)["spec"] | {"enableInTreeAutoscaling": False},
        },
        GATED,
    ),
}


@pytest.mark.parametrize("name", REFUSED_BY_KUEUE)
def test_only_kueue_holds_back_pods(kueue: Kubectl, name: str) -> None:
    manifest, message = REFUSED_BY_KUEUE[name]
    assert message in refusal(kueue, ALICE, manifest)


def put(key: str, value: Any) -> Patch:
    return [{"op": "add", "path": f"/spec/workerGroupSpecs/0/{key}", "value": value}]


CLUSTER = Target("ray.io/v1", "RayCluster", "elastic", "team-a")
ALONE = "Kueue resizes a queued RayCluster only if it was created with the annotation"
CHOSEN = "depends on whether it is autoscaled"
UPDATES: dict[str, tuple[tuple[str, ...], Patch, str]] = {
    "Ray's autoscaler grows it": (account("elastic"), put("replicas", 4), ""),
    "the team grows it": (ALICE, put("replicas", 4), ""),
    "the team turns its autoscaler off": (ALICE, {"spec": {"enableInTreeAutoscaling": False}}, CHOSEN),
    "the team removes the annotation": (ALICE, {"metadata": {"annotations": {ELASTIC: None}}}, ALONE),
    "the team opens the gates": (ALICE, put("template/spec/schedulingGates", []), "placement, priority"),
}


@pytest.mark.parametrize("name", UPDATES)
def test_kueue_alone_manages_what_is_elastic(kueue: Kubectl, name: str) -> None:
    user, patch, message = UPDATES[name]
    error = refused_patch(kueue, user, CLUSTER, patch)
    assert message in error
    assert bool(error) is bool(message)


ASKED = "create an autoscaled one with it"
CREATIONS: dict[str, tuple[Manifest, str]] = {
    "autoscaled": (autoscaled(raycluster()), ASKED),
    "autoscaled, annotated": (annotated(autoscaled(raycluster())), ""),
    "autoscaled, annotated as false": (annotated(autoscaled(raycluster()), "false"), ASKED),
    "of one size": (raycluster(), ""),
}


def test_older_clusters_ask_for_kueues_annotation(older: Kubectl) -> None:
    for name, (manifest, message) in CREATIONS.items():
        error = refusal(older, ALICE, suspended(manifest))
        assert message in error, name
        assert bool(error) is bool(message), name


FEWER, EVICTED = "fewer replicas than minReplicas", "set minReplicas to at least 1"
SIZES: dict[str, tuple[Callable[[Manifest], Manifest], str]] = {
    "between its limits": (autoscaled, ""),
    "at its minimum": (lambda m: resized(autoscaled(m), replicas=1), ""),
    "below its minimum": (lambda m: resized(autoscaled(m), replicas=0), FEWER),
    "without a minimum": (lambda m: resized(autoscaled(m), minReplicas=0), EVICTED),
    "of one size": (lambda m: resized(m, replicas=2, minReplicas=2), ""),
    "of one size, without a minimum": (lambda m: resized(m, replicas=2, minReplicas=0), ""),
    "of one size below its minimum": (lambda m: resized(m, replicas=1, minReplicas=2), FEWER),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIZES)
def test_kai_gets_objects_whose_minimum_it_counts(kai: Kubectl, kind: str, name: str) -> None:
    change, message = SIZES[name]
    error = refusal(kai, ALICE, change(KINDS[kind]()))
    assert message in error
    assert bool(error) is bool(message)


def test_kais_label_is_added_to_an_autoscaled_object(kai: Kubectl) -> None:
    assert create(kai, ALICE, autoscaled(rayjob()))["metadata"]["labels"][KAI_QUEUE] == "team-a"


@pytest.mark.parametrize(
    ("patch", "message"),
    [(put("replicas", 4), ""), (put("replicas", 0), FEWER), (put("minReplicas", 0), EVICTED)],
    ids=["grown", "below its minimum", "without a minimum"],
)
def test_kai_counts_a_resized_cluster(kai: Kubectl, patch: Patch, message: str) -> None:
    error = refused_patch(kai, ALICE, CLUSTER, patch)
    assert message in error
    assert bool(error) is bool(message)
