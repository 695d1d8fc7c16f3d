"""`pulumi destroy` while gangs run: their ClusterQueues are in use until the tenants' namespaces are gone."""

from sandbox.deployment import pulumi_cli
from sandbox.stack_file import STACK
from sandbox.toolchain.ensure import ensure_tools
from sandbox.toolchain.steps import Screen
from tests.sandbox.conftest import Second, rayjob

# The Kubernetes provider waits ten minutes for a deletion.
DESTROY_SECONDS_MAX = 120.0
STARTS_SECONDS_MAX = 240.0  # while another cluster starts at the same time


def test_destroy_does_not_wait_for_running_gangs(second: Second) -> None:
    cluster = second.cluster()
    job = rayjob("lasting", gpus=2)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "3600"
    name = cluster.submit(job)

    def runs() -> bool:
        return bool(cluster.job(name).get("status", {}).get("jobStatus") == "RUNNING")

    cluster.until(f"{name} running", runs, STARTS_SECONDS_MAX)
    try:
        cli = pulumi_cli(cluster.state, ensure_tools(["pulumi"], Screen())["pulumi"].path)
        outcome = cli.select(STACK, cluster.state.root / f"Pulumi.{STACK}.yaml").destroy()
        assert set(outcome.counts) == {"delete"}
        assert outcome.seconds < DESTROY_SECONDS_MAX
        queues = "clusterqueues,localqueues,resourceflavors,admissionchecks"
        assert cluster.kubectl.run("get", queues, "-A", "-o", "name") == ""
    finally:
        second.stop()
