"""A RayService on real nodes preempts training, and answers HTTP through its Service."""

from __future__ import annotations

from pathlib import Path

from sandbox.cluster.kinds import condition, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, list_pods
from tests.nodes.gangs import START_SECONDS_MAX, is_worker, training
from tools.toolchain.steps import Screen, StepError

SERVICE = Path(__file__).with_name("hello.rayservice.yaml")
URL = f"http://hello-serve-svc.{NAMESPACE}:8000/"
END_SECONDS_MAX = 120


def test_a_service_answers_while_training_below_it_is_preempted(kubectl: Kubectl, tmp_path: Path) -> None:
    with training(kubectl, tmp_path, "below-a-service", steps=40) as gang:
        gang.wait_for_step(3)
        note = Notes(Screen()).add
        try:
            kubectl.run("create", "-f", str(SERVICE))
            note("hello: submitted")
            gang.wait("the preemption", lambda: is_true(gang.workload(), "Preempted"), END_SECONDS_MAX)
            gang.wait("the end of all pods of training", lambda: not gang.pods(), END_SECONDS_MAX)
            note(f"{gang.job}: preempted, all pods have terminated")
            gang.wait(f"an answer of {URL}", lambda: answer(kubectl) == "hello", START_SECONDS_MAX)
            note(f"hello: answers at {URL}")
            assert condition(gang.workload(), "QuotaReserved")["status"] == "False"
            assert gang.pods() == []
        finally:
            kubectl.run("delete", "--ignore-not-found", "-f", str(SERVICE), timeout_seconds=END_SECONDS_MAX)
        gang.wait_to_resume()
        note(f"{gang.job}: resumed")


def answer(kubectl: Kubectl) -> str:
    """Returns the answer of the Service to a pod on the nodes' network; empty if there is none."""
    pods = [pod["metadata"] for pod in list_pods(kubectl) if is_worker(pod)]
    names = [meta["name"] for meta in pods if meta["labels"][CLUSTER_LABEL].startswith("hello-")]
    if not names:
        return ""
    try:
        return kubectl.run("exec", "-n", NAMESPACE, names[0], "--", "wget", "-q", "-T", "5", "-O", "-", URL)
    except StepError:  # no container, or no answer yet
        return ""
