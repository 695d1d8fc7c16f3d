"""The objects that KubeRay would create for a gang, as the controller asks the API server about them."""

import copy
from typing import Any

from muster.cluster.jobs.pod_checks import GENERATED_NAME, dry_runs
from muster.cluster.jobs.ray_services import DEFAULT_PORTS
from tests.simulation.manifests import ray_job, ray_service
from tests.unit.controller.builders import job

Body = dict[str, Any]


def asked(manifest: Body) -> dict[str, Body]:
    """Returns what is asked about, by its name for messages."""
    return {what: dict(create.body) for what, create in dry_runs(job(copy.deepcopy(manifest)))}


def ray(**head_group: Any) -> Body:
    """Returns a RayJob whose templates have names, as users may give them."""
    manifest = copy.deepcopy(ray_job("train"))
    spec = manifest["spec"]["rayClusterSpec"]
    for group in (spec["headGroupSpec"], spec["workerGroupSpecs"][0]):
        group["template"]["metadata"] = {"name": "mine", "namespace": "elsewhere"}
    spec["headGroupSpec"].update(head_group)
    return manifest


def test_kuberay_takes_the_name_of_the_heads_template_alone() -> None:
    answer = asked(ray())
    assert answer["pods of pod set 'head'"]["metadata"] == {"name": "mine", "namespace": "team-a"}
    worker = {"namespace": "team-a", "generateName": GENERATED_NAME}
    assert answer["pods of pod set 'gpu'"]["metadata"] == worker


def test_workers_wait_for_the_head_in_a_container_with_their_own_image() -> None:
    answer = asked(ray())
    (waits,) = answer["pods of pod set 'gpu'"]["spec"]["initContainers"]
    assert (waits["name"], waits["image"]) == ("wait-gcs-ready", "ray")
    assert "initContainers" not in answer["pods of pod set 'head'"]["spec"]


def test_head_service_has_rays_ports_unless_the_head_declares_others() -> None:
    ports = {port["name"]: port["port"] for port in asked(ray())["the head's Service"]["spec"]["ports"]}
    assert ports == {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "metrics": 8080, "serve": 8000}
    declared = ray()
    (container,) = declared["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    container["ports"] = [{"name": "gcs-server", "containerPort": 6380}, {"containerPort": 9000}]
    ports = {port["name"]: port["port"] for port in asked(declared)["the head's Service"]["spec"]["ports"]}
    assert ports == {"metrics": 8080, "gcs-server": 6380, "9000-port": 9000}


def test_head_service_is_headless_unless_the_user_gives_a_type_or_a_service() -> None:
    assert asked(ray())["the head's Service"]["spec"]["clusterIP"] == "None"
    for head_fields in ({"serviceType": "NodePort"}, {"headService": {"metadata": {"name": "own"}}}):
        assert "clusterIP" not in asked(ray(**head_fields))["the head's Service"]["spec"]


def test_serve_service_gets_the_default_port_unless_it_has_ports() -> None:
    service = copy.deepcopy(ray_service("llm"))
    service["spec"]["serveService"] = {"metadata": {"name": "mine"}}
    answer = asked(service)["spec.serveService"]
    assert answer["metadata"] == {"name": "mine", "namespace": "team-a"}
    assert answer["spec"]["ports"] == [{"name": "serve", "port": DEFAULT_PORTS["serve"]}]
    service["spec"]["serveService"]["spec"] = {"ports": [{"name": "http", "port": 80}]}
    assert asked(service)["spec.serveService"]["spec"]["ports"] == [{"name": "http", "port": 80}]
