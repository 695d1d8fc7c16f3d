"""A Kubernetes control plane on loopback with simulated nodes, by kwokctl's binary runtime.

Not included: kubelets, container runtimes and the network between pods; kwok simulates the nodes.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import psutil
import yaml

from muster.cluster.jobs.kinds import JOB_KINDS
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.nodes import KWOK_ANNOTATION
from sandbox.cluster.ports import free_port
from sandbox.cluster.processes import Processes, wait_until
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError, tail
from tools.toolchain.tools import KUBERNETES

STAGES = CHECKOUT / "sandbox" / "cluster" / "stages"
READY_SECONDS_MAX = 60
CONDITION_SECONDS_MAX = 60
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")
_BINARIES = {
    "etcdBinary": "etcd",
    "kubeApiserverBinary": "kube-apiserver",
    "kubeControllerManagerBinary": "kube-controller-manager",
    "kubeSchedulerBinary": "kube-scheduler",
    "kubectlBinary": "kubectl",
    "kwokControllerBinary": "kwok",
}
_PORTS = (
    "etcdPort",
    "etcdPeerPort",
    "kubeApiserverPort",
    "kubeControllerManagerPort",
    "kubeSchedulerPort",
    "kwokControllerPort",
)


@dataclass(frozen=True)
class NodeNetwork:
    """How real nodes reach the API server: the address at which they see it, and the network of ClusterIPs,
    whose first address is that of the Service `kubernetes`. `authority`: see `authority`."""

    api_address: str
    services: str
    authority: Path

    @property
    def api_service(self) -> str:
        """The ClusterIP of the Service `kubernetes`."""
        return str(ip_network(self.services)[1])


def kwokctl_configuration(
    tools: Mapping[str, Path], ports: Mapping[str, int], network: NodeNetwork | None = None
) -> dict[str, Any]:
    """Returns kwokctl's configuration: our binaries and ports, loopback only, RBAC, no rate limits.

    `ports` maps kwokctl's option names (`etcdPort`, ...) to port numbers. With a `network`, real nodes may
    join.
    """
    names = {"kubeApiserverCertSANs": [network.api_address, network.api_service]} if network else {}
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "runtime": "binary",
            "kubeVersion": KUBERNETES,
            "bindAddress": "127.0.0.1",
            "securePort": True,
            "kubeAuthorization": True,
            "kubeAdmission": True,
            "disableQPSLimits": True,
            **{option: str(tools[tool]) for option, tool in _BINARIES.items()},
            **ports,
            **names,
        },
        "componentsPatches": [
            # Enabled in GKE: pods that request GPUs tolerate the taint of GPU nodes.
            _argument("kube-apiserver", "enable-admission-plugins", "ExtendedResourceToleration"),
            *(_for_real_nodes(network) if network else ()),
            # By default 5 min, until which a ResourceQuota refuses objects of kinds newer than itself.
            _argument("kube-controller-manager", "resource-quota-sync-period", "5s"),
        ],
    }


def _for_real_nodes(network: NodeNetwork) -> list[dict[str, Any]]:
    """Returns the arguments with which kubelets join: the API server may call them, and each may change its
    own node and pods only; it calls webhooks at their pods' addresses, as the machine has no route to
    ClusterIPs; kwok leaves their nodes alone, and a lost node is noticed after Kubernetes'
    default time."""
    api_server = {
        "enable-admission-plugins": "NodeRestriction",
        "kubelet-client-certificate": str(network.authority / "admin.crt"),
        "kubelet-client-key": str(network.authority / "admin.key"),
        "kubelet-certificate-authority": str(network.authority / "ca.crt"),
        "advertise-address": network.api_address,
        # The endpoints would have the port of loopback, which NetworkPolicies do not allow.
        "endpoint-reconciler-type": "none",
        "service-cluster-ip-range": network.services,
        "kubelet-preferred-address-types": "InternalIP",
        "enable-aggregator-routing": "true",
    }
    return [
        *(_argument("kube-apiserver", key, value) for key, value in api_server.items()),
        _argument("kube-controller-manager", "node-monitor-period", "5s"),
        _argument("kube-controller-manager", "node-monitor-grace-period", "50s"),
        _argument("kwok-controller", "manage-all-nodes", "false"),
        _argument("kwok-controller", "manage-nodes-with-annotation-selector", f"{KWOK_ANNOTATION}=fake"),
    ]


def _argument(component: str, key: str, value: str) -> dict[str, Any]:
    return {"name": component, "extraArgs": [{"key": key, "value": value}]}


def authority(state: RunState) -> Path:
    """Returns the folder with the key and the certificate of the cluster's authority, ca.key and ca.crt, and
    the administrator's, admin.key and admin.crt."""
    return state.root / "kwok" / "clusters" / state.name / "pki"


def start_control_plane(
    state: RunState, processes: Processes, tools: Mapping[str, Path], network: NodeNetwork | None = None
) -> Kubectl:
    """Starts the control plane and returns kubectl for its administrator.

    Raises StepError with the end of kwokctl's log if it is not ready in time, or of a component's if that
    ended.
    """
    state.make()
    configuration = state.root / "kwokctl.yaml"
    ports = {option: free_port() for option in _PORTS}
    documents = [kwokctl_configuration(tools, ports, network)]
    for stages in sorted(STAGES.glob("*.yaml")):
        documents += yaml.safe_load_all(stages.read_text())
    configuration.write_text(yaml.safe_dump_all(documents, sort_keys=False))

    argv = [str(tools["kwokctl"]), "create", "cluster", "--name", state.name]
    argv += ["--config", str(configuration), "--kubeconfig", str(state.kubeconfig)]
    argv += ["--wait", f"{READY_SECONDS_MAX}s"]
    log = state.log("kwokctl")
    with log.open("w") as output:
        code = subprocess.call(
            argv,
            env=processes.environment({"KWOK_WORKDIR": str(state.root / "kwok"), **_garbage_collection()}),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if code != 0:
        raise StepError(
            f"the control plane is not ready:\n{tail(log)}",
            log=state.logs,
            try_this="read etcd.log and kube-apiserver.log there; is the disk full, the machine very busy?",
        )
    _adopt_components(state, processes)
    for component in COMPONENTS:  # kwokctl waits for the API server only
        processes.check(component)
    return Kubectl(tools["kubectl"], state.kubeconfig)


def _garbage_collection() -> dict[str, str]:
    """Returns Go's settings (runtime/debug): while it loads the CRDs, the API server would spend 40% of its
    time in garbage collection; with tens of thousands of Workloads, garbage must not fill the machine's
    memory."""
    return {"GOGC": "200", "GOMEMLIMIT": str(psutil.virtual_memory().total * 2 // 3)}


def _adopt_components(state: RunState, processes: Processes) -> None:
    """Adds kwokctl's processes to ours, so that one table shows and stops them all."""
    folder = state.root / "kwok" / "clusters" / state.name
    for component in COMPONENTS:
        log = state.log(component)
        log.unlink(missing_ok=True)
        log.symlink_to(folder / "logs" / f"{component}.log")
        pid = int((folder / "pids" / f"{component}.pid").read_text())
        processes.adopt(component, pid, log, graceful=False)


def create_crds(kubectl: Kubectl, folder: Path) -> int:
    """Creates the CRDs and waits until the API server serves them; returns how many."""
    kubectl.create_folder(folder)
    count = len(list(folder.glob("*.yaml")))
    _wait_for_all(kubectl, "crds", "Established", count)
    return count


def wait_for_quotas(kubectl: Kubectl) -> None:
    """Waits until Kubernetes counts all that ResourceQuotas bound: it looks for new kinds every 30 s
    (pkg/controller/resourcequota), and the API server refuses objects that are not counted."""
    wait_until("counts of ResourceQuotas", lambda: not _uncounted(kubectl), CONDITION_SECONDS_MAX)


def _uncounted(kubectl: Kubectl) -> list[str]:
    quotas = json.loads(kubectl.run("get", "resourcequotas", "--all-namespaces", "-o", "json"))["items"]
    counted = [(quota["spec"]["hard"], quota.get("status", {}).get("used", {})) for quota in quotas]
    uncounted = [key for hard, used in counted for key in hard.keys() - used.keys()]
    optional = {f"count/{job.kind.resource}": job.kind.resource for job in JOB_KINDS if job.optional}
    return [key for key in uncounted if key not in optional or _is_served(kubectl, optional[key])]


def _is_served(kubectl: Kubectl, resource: str) -> bool:
    return bool(kubectl.run("get", "crd", resource, "--ignore-not-found", "-o", "name"))


def create_nodes(kubectl: Kubectl, nodes: list[dict[str, Any]]) -> None:
    """Creates the nodes and waits until kwok has made all of them Ready."""
    kubectl.create(nodes)
    _wait_for_all(kubectl, "nodes", "Ready", len(nodes))


def _wait_for_all(kubectl: Kubectl, kind: str, condition: str, count: int) -> None:
    # not jsonpath, nor `kubectl wait`: both fail on an object so new that it has no conditions at all
    status = f'{{{{if eq .type "{condition}"}}}}{{{{.status}}}} {{{{end}}}}'
    template = f"{{{{range .items}}}}{{{{range .status.conditions}}}}{status}{{{{end}}}}{{{{end}}}}"

    def all_true() -> bool:
        return kubectl.run("get", kind, "-o", f"go-template={template}").split().count("True") >= count

    # not more often: the CRDs together are megabytes
    wait_until(f"{condition} of all {count} {kind}", all_true, CONDITION_SECONDS_MAX, pause_seconds=0.4)
