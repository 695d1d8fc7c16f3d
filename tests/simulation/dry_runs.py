"""Answers of an API server to dry runs of Pods and Services: a few rules of each of its checks.

Left out: all other rules, LimitRanges, ResourceQuotas, policies and webhooks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from muster.kube import kinds
from muster.kube.writes import Create
from muster.objects.core import Namespace
from tests.simulation.api import Api, Body

SERVICE_ACCOUNTS = kinds.Kind("", "v1", "ServiceAccount", "serviceaccounts", Namespace, namespaced=True)
ENFORCED = "pod-security.kubernetes.io/enforce"
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def refusal(api: Api, create: Create) -> str:
    of_kind = {kinds.PODS: _pod, kinds.SERVICES: _service}[create.kind]
    return _metadata(create.body["metadata"]) or of_kind(api, dict(create.body))


def _metadata(meta: Mapping[str, Any]) -> str:
    name = meta.get("name", "generated")
    if not DNS_LABEL.fullmatch(name):
        return f"metadata.name: Invalid value: {name!r}"
    wrong = [key for key in meta.get("annotations", {}) if not LABEL_KEY.fullmatch(key)]
    return f"metadata.annotations: Invalid value: {wrong[0]!r}" if wrong else ""


def _pod(api: Api, pod: Body) -> str:
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    account = spec.get("serviceAccountName", "default")
    if account != "default" and api.find(SERVICE_ACCOUNTS, f"{namespace}/{account}") is None:
        return f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
    if "priority" in spec:
        return f"the integer value of priority ({spec['priority']}) must not be provided in pod spec"
    place = api.find(kinds.NAMESPACES, namespace) or {"metadata": {}}  # stacks may leave out namespaces
    restricted = place["metadata"].get("labels", {}).get(ENFORCED) == "restricted"
    if restricted and not spec.get("securityContext", {}).get("runAsNonRoot"):
        return 'violates PodSecurity "restricted:latest": runAsNonRoot != true'
    return _containers([*spec["containers"], *spec.get("initContainers", ())])


def _containers(containers: Iterable[Body]) -> str:
    names: set[str] = set()
    for container in containers:
        name = container.get("name", "")
        if not DNS_LABEL.fullmatch(name):
            return f"spec.containers.name: Invalid value: {name!r}"
        if name in names:
            return f"spec.containers.name: Duplicate value: {name!r}"
        if not container.get("image"):
            return f"spec.containers.image of {name!r}: Required value"
        names.add(name)
    return ""


def _service(api: Api, service: Body) -> str:
    ports = Counter(port["port"] for port in service["spec"]["ports"])
    twice = [port for port, times in ports.items() if times > 1]
    return f"spec.ports: Duplicate value: {twice[0]}" if twice else ""
