"""Every field of Ray's kinds on the API server with stack local's policies, as components/admission/fields
says: tenants change it on a queued object, or create an object that has it. The fields of newer versions of
KubeRay are added to the CRDs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from components.admission.fields.schema import KINDS, addresses, fields_of, recorded
from components.admission.fields.table import Effect, table
from components.admission.ray import RAY_KINDS
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest, Target, connection
from tests.stacks.ray_fields import Change, Schema, changed, changes, with_newer_fields
from tests.stacks.ray_requests import ALICE, create, message_of, raycluster, rayjob, rayservice
from tools.docs import ray_fields
from tools.toolchain.steps import StepError

WAITING, RUNNING = "fields-waiting", "fields-running"
GROUP = 20  # harmless changes that one request makes
SUBMITTER = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "submitter", "image": "ray", "resources": {"requests": {"cpu": "1"}}}],
    }
}
INIT = {"name": "first", "image": "ray", "resources": {"requests": {"cpu": "1"}}}
SUSPENDED = {kind.name: [path.split(".") for path in kind.suspends] for kind in RAY_KINDS}


@cache
def schemas() -> dict[str, Schema]:
    """Returns the OpenAPI schema of each kind, with the fields of newer versions."""
    return with_newer_fields(ray_fields.schemas(), table())


def queued(kind: str, name: str) -> Manifest:
    """Returns an object of this kind, each of whose templates has a container of both kinds."""
    make = {"RayJob": rayjob, "RayCluster": raycluster, "RayService": rayservice}[kind]
    manifest = make(name)
    spec = manifest["spec"]
    if kind == "RayJob":
        spec["submitterPodTemplate"] = json.loads(json.dumps(SUBMITTER))
    if kind == "RayService":
        spec["upgradeStrategy"] = {"type": "None"}  # else no template may change
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    cluster.pop("authOptions", None)  # frozen with it: rayVersion
    (group,) = cluster["workerGroupSpecs"]
    group |= {"minReplicas": 1, "maxReplicas": 9}  # may grow in either direction
    templates = [cluster["headGroupSpec"]["template"], group["template"]]
    for template in [*templates, *([spec["submitterPodTemplate"]] if kind == "RayJob" else [])]:
        template["spec"]["initContainers"] = [dict(INIT)]
    return manifest


@pytest.fixture(scope="module")
def newer(server: Kubectl) -> Iterator[Kubectl]:
    """The server with these schemas in its CRDs; they are restored afterwards."""
    serve(server, schemas())
    wait_until("the new fields", lambda: stores_newer_fields(server), EFFECT_SECONDS_MAX)
    yield server
    serve(server, ray_fields.schemas())
    wait_until("the pinned fields", lambda: not stores_newer_fields(server), EFFECT_SECONDS_MAX)


def serve(server: Kubectl, served: Mapping[str, Schema]) -> None:
    for kind in RAY_KINDS:
        name = f"{kind.plural}.ray.io"
        definition = json.loads(server.run("get", "crd", name, "-o", "json"))
        (version,) = (v for v in definition["spec"]["versions"] if v["name"] == kind.kind.version)
        version["schema"]["openAPIV3Schema"] = served[kind.name]
        server.run("replace", "-f", "-", stdin=json.dumps(definition))


def stores_newer_fields(server: Kubectl) -> bool:
    """Returns whether a new RayService has spec.suspend, which only newer versions of its CRD have."""
    return "suspend" in create(server, ALICE, queued("RayService", "fields-new"))["spec"]


@pytest.fixture(scope="module")
def objects(newer: Kubectl) -> dict[tuple[str, str], Manifest]:
    """Adds a waiting object of each kind to team-a, and a running one."""
    stored = {}
    for kind in KINDS:
        for name in (WAITING, RUNNING):
            newer.run("create", "-f", "-", *ALICE, stdin=json.dumps(queued(kind, name)))
        for *path, last in SUSPENDED[kind]:
            started: dict[str, Any] = {last: False}
            for key in reversed(path):
                started = {key: started}
            newer.run(
                "patch",
                f"{kind.lower()}/{RUNNING}",
                "--namespace=team-a",
                "--type=merge",
                "-p",
                json.dumps(started),
            )
        for name in (WAITING, RUNNING):
            text = newer.run("get", f"{kind.lower()}/{name}", "--namespace=team-a", "-o", "json")
            stored[kind, name] = json.loads(text)
    return stored


def test_the_recorded_fields_are_those_of_the_pinned_kuberay() -> None:
    assert recorded() == ray_fields.pinned(), "run make fields, and add rows to fields.toml"


def every(effect: Effect) -> Iterator[Change]:
    return changes(addresses(fields_of(schemas())), table(), effect)


def update(server: Kubectl, manifest: Manifest, new: Manifest) -> str:
    """Replaces it as a dry run; returns `accepted`, `refused` by a policy, or the server's message."""
    parts = [key for key in ("metadata", "spec", "status") if new.get(key) != manifest.get(key)]
    patch = [{"op": "add", "path": f"/{key}", "value": new[key]} for key in parts]
    target = Target("ray.io/v1", manifest["kind"], manifest["metadata"]["name"], "team-a")
    return _answer(lambda: connection(server.kubeconfig).patch(target, patch, ALICE))


def creation(server: Kubectl, manifest: Manifest) -> str:
    """Creates it as a dry run; returns as `update`."""
    return _answer(lambda: create(server, ALICE, manifest))


def _answer(request: Any) -> str:
    try:
        request()
    except StepError as error:
        return "refused" if message_of(error) else str(error)
    return "accepted"


def refusals(server: Kubectl, manifest: Manifest, group: Sequence[Change]) -> list[str]:
    """Returns the changes that the server does not accept. A group that it accepts as one change takes one
    request: a policy that refuses a part refuses the whole."""
    new = manifest
    for change in group:
        new = applied(new, change)
    if update(server, manifest, new) == "accepted":
        return []
    answers = {change: update(server, manifest, applied(manifest, change)) for change in group}
    return [f"{change}: {answer}" for change, answer in answers.items() if answer != "accepted"]


def applied(manifest: Manifest, change: Change) -> Manifest:
    return changed(manifest, schemas()[change.kind], change.path, change.value)


@pytest.mark.thorough
@pytest.mark.parametrize("effect", ["frozen", "counted"])
@pytest.mark.parametrize("name", [WAITING, RUNNING])
def test_frozen_fields_cannot_be_changed(
    newer: Kubectl, objects: dict[tuple[str, str], Manifest], name: str, effect: Effect
) -> None:
    failures = []
    for change in every(effect):
        manifest = objects[change.kind, name]
        new = applied(manifest, change)
        if new != manifest and (answer := update(newer, manifest, new)) != "refused":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [WAITING, RUNNING])
def test_harmless_fields_can_be_changed(
    newer: Kubectl, objects: dict[tuple[str, str], Manifest], name: str, kind: str
) -> None:
    harmless = [change for change in every("harmless") if change.kind == kind]
    groups = [harmless[i : i + GROUP] for i in range(0, len(harmless), GROUP)]
    failures = [failure for group in groups for failure in refusals(newer, objects[kind, name], group)]
    assert not failures, "\n".join(failures)


def test_refused_fields_cannot_be_set(newer: Kubectl) -> None:
    failures = []
    for change in every("refused"):
        base = queued(change.kind, "fields-new")
        answer = creation(newer, applied(base, change))
        if answer != "refused":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


@pytest.mark.thorough
@pytest.mark.parametrize("effect", ["counted", "frozen"])
def test_other_fields_can_be_set(newer: Kubectl, effect: Effect) -> None:
    """Otherwise the table could call every field refused."""
    failures = []
    for change in every(effect):
        if change.path == "metadata":
            continue
        base = queued(change.kind, "fields-new")
        answer = creation(newer, applied(base, change))
        if answer != "accepted":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


def test_bounds_hold(newer: Kubectl) -> None:
    failures = []
    for change in every("bounded"):
        expected = [(value, "accepted") for value in change.row.within]
        expected += [(value, "refused") for value in change.row.beyond]
        for value, expectation in expected:
            base = queued(change.kind, "fields-new")
            new = changed(base, schemas()[change.kind], change.path, value)
            if (answer := creation(newer, new)) != expectation:
                failures.append(f"{change} = {value}: {answer}")
    assert not failures, "\n".join(failures)
