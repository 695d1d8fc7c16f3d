"""Simulated Ray Serve: states of applications, and their loss with the head."""

import re
from typing import Any

import pytest
from lightkube import Client

from sandbox.cluster.kinds import Object
from sandbox.stand_ins.ray_serve import Serve, read_config, serve_details

HOST = "llm-abcde-head-svc.t.svc.cluster.local"
APPLICATION = {
    "name": "llm",
    "import_path": "ray.serve.llm:build_openai_app",
    "deployments": [{"name": "vllm"}],
}
CONFIG = {"applications": [APPLICATION]}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param([], "expected a JSON object with a list of applications", id="a list"),
        pytest.param({}, "expected a JSON object with a list of applications", id="no applications"),
        pytest.param(
            {"applications": [{"name": "a"}]},
            "an application needs an import_path: {'name': 'a'}",
            id="no path",
        ),
    ],
)
def test_configuration_that_serve_would_refuse_is_an_error(config: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_config(config)


@pytest.mark.parametrize(
    ("running", "status", "deployment"), [(False, "DEPLOYING", "UPDATING"), (True, "RUNNING", "HEALTHY")]
)
def test_details_have_the_states_of_applications_and_deployments(
    running: bool, status: str, deployment: str
) -> None:
    details = serve_details([APPLICATION], running)["applications"]["llm"]
    assert (details["status"], details["deployments"]["vllm"]["status"]) == (status, deployment)


class Known:
    """A fake reflector."""

    def __init__(self, *objects: Object) -> None:
        self._objects = list(objects)

    def objects(self) -> list[Object]:
        return self._objects

    def get(self, namespace: str, name: str) -> Object | None:
        expected = (namespace, name)
        return next(
            (o for o in self._objects if (o["metadata"]["namespace"], o["metadata"]["name"]) == expected),
            None,
        )


def head(uid: str, phase: str = "Running") -> Object:
    labels = {"ray.io/cluster": "llm-abcde", "ray.io/node-type": "head"}
    meta = {"namespace": "t", "name": f"head-{uid}", "uid": uid, "labels": labels}
    return {"metadata": meta, "status": {"phase": phase, "podIP": "10.0.0.7"}}


def cluster(state: str) -> Object:
    return {"metadata": {"namespace": "t", "name": "llm-abcde"}, "status": {"state": state}}


def serve_with(*heads: Object, state: str = "ready") -> Serve:
    serve = Serve(Client.__new__(Client))
    serve._heads, serve._clusters = Known(*heads), Known(cluster(state))  # type: ignore[assignment]
    return serve


def statuses(serve: Serve) -> dict[str, Any]:
    details = serve.details(HOST)
    assert details is not None
    return {name: application["status"] for name, application in details["applications"].items()}


def test_application_runs_once_its_whole_cluster_runs() -> None:
    serve = serve_with(head("a"), state="")
    assert statuses(serve) == {}
    assert serve.deploy(HOST, CONFIG)
    assert statuses(serve) == {"llm": "DEPLOYING"}
    serve._clusters = Known(cluster("ready"))  # type: ignore[assignment]
    assert statuses(serve) == {"llm": "RUNNING"}


def test_proxy_responds_after_the_first_deployment() -> None:
    serve = serve_with(head("a"))
    assert not serve.proxy_answers("10.0.0.7")
    serve.deploy(HOST, CONFIG)
    assert serve.proxy_answers("10.0.0.7")
    assert not serve.proxy_answers("10.0.0.8")


def test_new_head_has_no_applications() -> None:
    serve = serve_with(head("a"))
    serve.deploy(HOST, CONFIG)
    serve._heads = Known(head("b"))  # type: ignore[assignment]
    assert statuses(serve) == {}


@pytest.mark.parametrize("heads", [(), (head("a", phase="Pending"),)], ids=["no head", "a starting head"])
def test_cluster_without_a_running_head_has_no_dashboard(heads: tuple[Object, ...]) -> None:
    serve = serve_with(*heads)
    assert serve.details(HOST) is None
    assert not serve.deploy(HOST, CONFIG)
