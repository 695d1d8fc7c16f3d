"""The controller, queues and two teams, in the cluster of another stack."""

import asyncio

import pulumi
import pulumi_kubernetes as kubernetes
import pulumi_muster as muster

PRIORITIES = {"prod-priority": 1000, "dev-priority": 100}
TEAMS = ("team-a", "team-b")


async def main() -> None:
    config = pulumi.Config()
    stack = pulumi.StackReference(config.require("clusterStack"))
    # Settings are plain values: `get_output_details` reads one, where `get_output` returns an Output.
    pools = (await stack.get_output_details("pools")).value
    inside = kubernetes.Provider(
        "research",
        kubeconfig=stack.require_output("kubeconfig"),
        cluster_identifier=stack.require_output("clusterId"),
        enable_patch_force=True,
    )
    controller = muster.Controller(
        "controller",
        image=config.require("image"),
        priorities=PRIORITIES,
        opts=pulumi.ResourceOptions(provider=inside),
    )
    quotas = {
        "system": {"cpu": {"nominal": "4"}, "memory": {"nominal": "16Gi"}},
        # Workers need CPUs and memory of the GPUs' nodes too.
        "l4": {
            "cpu": {"nominal": "12"},
            "memory": {"nominal": "48Gi"},
            "nvidia.com/gpu": {"nominal": "4"},
        },
    }
    queues = muster.Queues(
        "queues",
        pools=pools,
        queues={
            "cohorts": [{"name": "research"}],
            "cluster_queues": [{"name": team, "cohort": "research", "quotas": quotas} for team in TEAMS],
        },
        priorities=PRIORITIES,
        opts=pulumi.ResourceOptions(provider=inside, depends_on=[controller]),
    )
    for team in TEAMS:
        muster.Tenant(
            team,
            namespace=team,
            queues={"jobs": team},
            group=f"{team}@example.com",
            api_server_address=stack.require_output("privateAddress"),
            opts=pulumi.ResourceOptions(provider=inside, depends_on=[queues]),
        )
    pulumi.export("clusterQueues", queues.cluster_queues)
    pulumi.export("priorities", queues.priorities)


asyncio.get_event_loop().create_task(main())
