"""The files and command lines of a node."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from sandbox.realnodes.addresses import Addresses
from sandbox.realnodes.node_settings import PAUSE_IMAGE, programs, write_settings
from sandbox.realnodes.spec import NodeSpec, read_spec

TAINT = {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}
TOOLS = ("kubelet", "kube-proxy", "dra-example-kubeletplugin", "network-policies", "containerd", "ctr")


@pytest.fixture
def spec(tmp_path: Path) -> NodeSpec:
    return NodeSpec(
        name="gke-system-1",
        number=1,
        folder=tmp_path / "node",
        logs=tmp_path,
        addresses=Addresses(3),
        network_pid=42,
        control_group="muster-mine-gke-system-1",
        tools={name: Path("/tools") / name for name in TOOLS},
        packages=Path("/packages"),
        labels={"cloud.google.com/gke-nodepool": "system"},
        taints=[TAINT],
    )


def test_a_spec_is_read_as_it_was_written(spec: NodeSpec, tmp_path: Path) -> None:
    spec.write(tmp_path / "node.json")
    assert read_spec(tmp_path / "node.json") == spec


def test_the_kubelet_has_the_labels_taints_and_addresses_of_its_node(spec: NodeSpec) -> None:
    write_settings(spec)
    kubelet = yaml.safe_load((spec.settings / "kubelet.yaml").read_text())
    assert kubelet["registerWithTaints"] == [TAINT]
    assert kubelet["cgroupRoot"] == "/muster-mine-gke-system-1"
    assert kubelet["clusterDNS"] == ["10.96.0.10"]
    assert kubelet["authentication"]["anonymous"] == {"enabled": False}
    command = programs(spec)["kubelet"]
    assert "--node-labels=cloud.google.com/gke-nodepool=system" in command
    assert "--node-ip=10.99.3.11" in command


def test_a_node_without_labels_gets_no_empty_flag(spec: NodeSpec) -> None:
    command = programs(replace(spec, labels={}))["kubelet"]
    assert not [argument for argument in command if argument.startswith("--node-labels")]


def test_containerd_runs_debians_runc_and_holds_pods_with_our_pause(spec: NodeSpec) -> None:
    write_settings(spec)
    content = tomllib.loads((spec.settings / "containerd.toml").read_text())
    runtime = content["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == "/packages/usr/sbin/runc"
    images = content["plugins"]["io.containerd.cri.v1.images"]
    assert images["pinned_images"]["sandbox"] == PAUSE_IMAGE


def test_pods_of_different_nodes_have_different_networks(spec: NodeSpec) -> None:
    subnets = set()
    for number in (0, 1):
        node = replace(spec, number=number)
        write_settings(node)
        network = json.loads((node.settings / "cni" / "10-bridge.conflist").read_text())
        subnets.add(network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"])
    assert subnets == {"10.131.0.0/24", "10.131.1.0/24"}
