"""Every field of Ray's kinds on the API server with stack local's policies, as components/admission/fields
says: tenants change it on a queued object, or create an object that has it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from components.admission.fields.schema import KINDS, addresses, recorded
from components.admission.fields.table import Effect, table
from components.admission.ray import RAY_KINDS
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target, connection
from tests.stacks.ray_fields import Change, changed, changes
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
SUSPENDED = {kind.name: kind.suspend.split(".") for kind in RAY_KINDS}


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
def objects(server: Kubectl) -> dict[tuple[str, str], Manifest]:
    """Adds a waiting object of each kind to team-a, and a running one."""
    stored = {}
    for kind in KINDS:
        for name in (WAITING, RUNNING):
            server.run("create", "-f", "-", *ALICE, stdin=json.dumps(queued(kind, name)))
        *path, last = SUSPENDED[kind]
        started: dict[str, Any] = {last: False}
        for key in reversed(path):
            started = {key: started}
        server.run(
            "patch",
            f"{kind.lower()}/{RUNNING}",
            "--namespace=team-a",
            "--type=merge",
            "-p",
            json.dumps(started),
        )
        for name in (WAITING, RUNNING):
            text = server.run("get", f"{kind.lower()}/{name}", "--namespace=team-a", "-o", "json")
            stored[kind, name] = json.loads(text)
    return stored


def test_the_recorded_fields_are_those_of_the_pinned_kuberay() -> None:
    assert recorded() == ray_fields.pinned(), "run make fields, and add rows to fields.toml"


def every(effect: Effect) -> Iterator[Change]:
    return changes(addresses(ray_fields.pinned()), table(), effect)


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
    return changed(manifest, ray_fields.schemas()[change.kind], change.path, change.value)


@pytest.mark.parametrize("effect", ["frozen", "counted"])
@pytest.mark.parametrize("name", [WAITING, RUNNING])
def test_frozen_fields_cannot_be_changed(
    server: Kubectl, objects: dict[tuple[str, str], Manifest], name: str, effect: Effect
) -> None:
    failures = []
    for change in every(effect):
        manifest = objects[change.kind, name]
        new = applied(manifest, change)
        if new != manifest and (answer := update(server, manifest, new)) != "refused":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [WAITING, RUNNING])
def test_harmless_fields_can_be_changed(
    server: Kubectl, objects: dict[tuple[str, str], Manifest], name: str, kind: str
) -> None:
    harmless = [change for change in every("harmless") if change.kind == kind]
    groups = [harmless[i : i + GROUP] for i in range(0, len(harmless), GROUP)]
    failures = [failure for group in groups for failure in refusals(server, objects[kind, name], group)]
    assert not failures, "\n".join(failures)


def test_refused_fields_cannot_be_set(server: Kubectl) -> None:
    failures = []
    for change in every("refused"):
        base = queued(change.kind, "fields-new")
        answer = creation(server, applied(base, change))
        if answer != "refused":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("effect", ["counted", "frozen"])
def test_other_fields_can_be_set(server: Kubectl, effect: Effect) -> None:
    """Otherwise the table could call every field refused."""
    failures = []
    for change in every(effect):
        if change.path == "metadata":
            continue
        base = queued(change.kind, "fields-new")
        answer = creation(server, applied(base, change))
        if answer != "accepted":
            failures.append(f"{change}: {answer}")
    assert not failures, "\n".join(failures)


def test_bounds_hold(server: Kubectl) -> None:
    failures = []
    for change in every("bounded"):
        expected = [(value, "accepted") for value in change.row.within]
        expected += [(value, "refused") for value in change.row.beyond]
        for value, expectation in expected:
            base = queued(change.kind, "fields-new")
            new = changed(base, ray_fields.schemas()[change.kind], change.path, value)
            if (answer := creation(server, new)) != expectation:
                failures.append(f"{change} = {value}: {answer}")
    assert not failures, "\n".join(failures)
