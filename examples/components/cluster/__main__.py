"""A GKE cluster with queued GPUs. Its outputs are for the programs of what runs in it."""

import pulumi
import pulumi_muster as muster

config = pulumi.Config()
POOLS = [
    {"name": "system", "machine_type": "e2-standard-4", "nodes": {"min": 1, "max": 3}},
    {
        "name": "l4",
        "machine_type": "g2-standard-4",
        "gpu": {"type": "nvidia-l4", "count": 1},
        "provisioning": "queued",
        "nodes": {"max": 10},
    },
]

cluster = muster.RayCluster(
    "research",
    project=config.require("project"),
    cluster={"kind": "gke", "name": "research", "location": "us-west1-b"},
    pools=POOLS,
)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("clusterId", cluster.cluster_id)
pulumi.export("privateAddress", cluster.private_address)
pulumi.export("pools", POOLS)
