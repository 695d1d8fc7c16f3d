"""The settings of a node's programs: containerd, CNI, kubelet, kube-proxy."""

import json
from typing import Any

import yaml

from sandbox.realnodes import cgroups
from sandbox.realnodes.addresses import DNS_ADDRESS, SERVICES
from sandbox.realnodes.spec import NodeSpec

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CONTAINERD_ROOT = "/var/lib/containerd"
KUBELET_ROOT = "/var/lib/kubelet"
CDI_ROOT = "/run/cdi"
DEVICES = 4
"""Devices of each node, which exist in name only: a container that claims one gets a variable."""
DOMAIN = "cluster.local"
COMMANDS = ("iptables", "iptables-save", "iptables-restore")
"""Commands that are links to one executable, which Debian chooses when it installs the package."""

_CONTAINERD = """\
version = 3
root = "{root}"
state = "/run/containerd"
# The snapshotters and plug-ins that need other file systems, devices or daemons.
disabled_plugins = [
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.erofs",
  "io.containerd.nri.v1.nri",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing",
]

[grpc]
address = "{socket}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{pause}"

[plugins."io.containerd.cri.v1.runtime"]
# Without CAP_SYS_RESOURCE, pods cannot be given a lower OOM score than this process.
restrict_oom_score_adj = true
disable_apparmor = true
disable_hugetlb_controller = true
tolerate_missing_hugetlb_controller = true
enable_unprivileged_ports = true
cdi_spec_dirs = ["{devices}"]

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugins}"]
conf_dir = "{cni}"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
"""


def write_settings(spec: NodeSpec) -> None:
    """Writes all files to the node's folder."""
    spec.settings.mkdir(parents=True, exist_ok=True)
    cni = spec.settings / "cni"
    cni.mkdir(exist_ok=True)
    (cni / "10-bridge.conflist").write_text(json.dumps(_cni(spec), indent=2))
    (spec.settings / "containerd.toml").write_text(
        _CONTAINERD.format(
            root=CONTAINERD_ROOT,
            socket=CONTAINERD_SOCKET,
            devices=CDI_ROOT,
            pause=PAUSE_IMAGE,
            plugins=spec.packages / "usr" / "lib" / "cni",
            cni=cni,
            runc=spec.packages / "usr" / "sbin" / "runc",
        )
    )
    (spec.settings / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(spec), sort_keys=False))
    commands = spec.settings / "bin"
    commands.mkdir(exist_ok=True)
    for name in COMMANDS:
        (commands / name).unlink(missing_ok=True)
        (commands / name).symlink_to(spec.packages / "usr" / "sbin" / "xtables-nft-multi")
    (spec.settings / "resolv.conf").write_text(f"nameserver {DNS_ADDRESS}\n")
    (spec.settings / "hosts").write_text(f"127.0.0.1 localhost\n{spec.address} {spec.name}\n")


def _cni(spec: NodeSpec) -> dict[str, Any]:
    """Returns the network of the node's pods: a bridge, whose pods other nodes reach by a route."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": spec.addresses.node_pods(spec.number)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def _kubelet(spec: NodeSpec) -> dict[str, Any]:
    thresholds = {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        **({} if cgroups.is_v2() else {"failCgroupV1": False}),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{spec.control_group}",
        "enforceNodeAllocatable": ["pods"],
        "failSwapOn": False,
        "oomScoreAdj": 0,  # a lower value needs CAP_SYS_RESOURCE
        "makeIPTablesUtilChains": False,
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": DOMAIN,
        "resolvConf": "",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "volumePluginDir": f"{KUBELET_ROOT}/volume-plugins",
        "evictionHard": thresholds,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "tlsCertFile": str(spec.settings / "client.crt"),
        "tlsPrivateKeyFile": str(spec.settings / "client.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(spec.settings / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "registerWithTaints": [dict(taint) for taint in spec.taints],
    }


def programs(spec: NodeSpec) -> dict[str, list[str]]:
    """Returns the command lines of a node's programs by name, in the order of their start."""
    settings, tools = spec.settings, {name: str(path) for name, path in spec.tools.items()}
    kubeconfig = f"--kubeconfig={settings / 'kubeconfig'}"
    labels = ",".join(f"{key}={value}" for key, value in spec.labels.items())
    return {
        "containerd": [tools["containerd"], f"--config={settings / 'containerd.toml'}"],
        "kubelet": [
            tools["kubelet"],
            f"--config={settings / 'kubelet.yaml'}",
            kubeconfig,
            f"--root-dir={KUBELET_ROOT}",
            f"--hostname-override={spec.name}",
            f"--node-ip={spec.address}",
            *([f"--node-labels={labels}"] if labels else []),
        ],
        "kube-proxy": [
            tools["kube-proxy"],
            kubeconfig,
            "--proxy-mode=nftables",
            f"--cluster-cidr={spec.addresses.pods}",
            f"--hostname-override={spec.name}",
            # Leaves the machine's own sysctls unchanged.
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
        ],
        "network-policies": [
            tools["network-policies"],
            f"--kubeconfig={spec.network_policies / 'kubeconfig'}",
            f"--hostname-override={spec.name}",
            f"--service-cluster-ip-range={SERVICES}",
        ],
        # It has the rights of its node: the API server lets a node read its pods' claims only.
        "devices": [
            tools["dra-example-kubeletplugin"],
            kubeconfig,
            f"--node-name={spec.name}",
            f"--num-devices={DEVICES}",
            f"--cdi-root={CDI_ROOT}",
            f"--kubelet-registrar-directory-path={KUBELET_ROOT}/plugins_registry",
            f"--kubelet-plugins-directory-path={KUBELET_ROOT}/plugins",
        ],
    }
