"""Simulates Ray Serve for the dashboard's stand-in: applications run once their whole cluster runs.

Applications belong to the head that they were deployed to, and are lost with it, as in a cluster without GCS
fault tolerance; the operator then deploys them again. Serve's proxy on the head responds after the first
deployment.

Not simulated: replicas, requests, failing applications, code changes without a new configuration.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from lightkube import Client

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.stand_ins.reflector import Reflector

CLUSTER_LABEL = "ray.io/cluster"
HEAD_LABELS = {"ray.io/node-type": "head"}
HEAD_SERVICE_SUFFIX = "-head-svc"

Application = Mapping[str, Any]


def read_config(config: object) -> list[Application]:
    """Returns the applications of a serveConfigV2 (ray.serve ServeDeploySchema).

    Raises ValueError that names the missing field.
    """
    applications = config.get("applications") if isinstance(config, dict) else None
    if not isinstance(applications, list):
        raise ValueError("expected a JSON object with a list of applications")
    for application in applications:
        if not isinstance(application, dict) or not application.get("import_path"):
            raise ValueError(f"an application needs an import_path: {application}")
    return applications


def serve_details(applications: Sequence[Application], running: bool) -> dict[str, Any]:
    """Returns the dashboard's response: the fields of ray.serve's ServeInstanceDetails that KubeRay reads.

    Lists only the deployments in the configuration; Ray also lists the deployments in the application's code.
    """
    status, deployment_status = ("RUNNING", "HEALTHY") if running else ("DEPLOYING", "UPDATING")
    return {
        "applications": {
            application.get("name", "default"): {
                "name": application.get("name", "default"),
                "route_prefix": application.get("route_prefix", "/"),
                "status": status,
                "message": "",
                "deployments": {
                    d["name"]: {"name": d["name"], "status": deployment_status, "message": ""}
                    for d in application.get("deployments", ())
                },
            }
            for application in applications
        }
    }


class Serve:
    """The applications of all clusters, by head pod."""

    def __init__(self, client: Client) -> None:
        self._heads = Reflector(client, kinds.Pod, self._forget, labels=HEAD_LABELS)
        self._clusters = Reflector(client, kinds.RayCluster, lambda *_: None)
        self._lock = threading.Lock()
        self._applications: dict[str, list[Application]] = {}  # by the UID of the head pod

    def start(self) -> None:
        """Starts the watches."""
        for reflector in (self._heads, self._clusters):
            reflector.start()

    def deploy(self, host: str, config: object) -> bool:
        """Deploys to the cluster of a head service's host name; returns False if it has no head.

        Raises ValueError for a configuration that Ray Serve would reject.
        """
        applications, head = read_config(config), self._head(host)
        if head is None:
            return False
        with self._lock:
            self._applications[head["metadata"]["uid"]] = applications
        return True

    def details(self, host: str) -> dict[str, Any] | None:
        """Returns the applications and their states; None if there is no head."""
        head = self._head(host)
        if head is None:
            return None
        namespace, name = _cluster_of(host)
        cluster = self._clusters.get(namespace, name) or {}
        ready = (cluster.get("status") or {}).get("state") == "ready"
        with self._lock:
            return serve_details(self._applications.get(head["metadata"]["uid"], ()), ready)

    def proxy_answers(self, ip: str) -> bool:
        """Returns whether Serve's proxy runs on the head pod with this address."""
        heads = (h for h in self._heads.objects() if (h.get("status") or {}).get("podIP") == ip)
        with self._lock:
            return any(self._applications.get(h["metadata"]["uid"]) for h in heads)

    def _head(self, host: str) -> Object | None:
        namespace, cluster = _cluster_of(host)
        for pod in self._heads.objects():
            running = (pod.get("status") or {}).get("phase") == "Running"
            in_namespace = pod["metadata"]["namespace"] == namespace
            if running and in_namespace and pod["metadata"]["labels"].get(CLUSTER_LABEL) == cluster:
                return pod
        return None

    def _forget(self, _kind: str, pod: Object, deleted: bool) -> None:
        if deleted:
            with self._lock:
                self._applications.pop(pod["metadata"]["uid"], None)


def _cluster_of(host: str) -> tuple[str, str]:
    """Parses `<cluster>-head-svc.<namespace>.svc.cluster.local`; returns the namespace and name of the
    RayCluster."""
    service, _, domain = host.partition(".")
    return domain.partition(".")[0], service.removesuffix(HEAD_SERVICE_SUFFIX)
