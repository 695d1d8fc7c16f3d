"""Queue configurations from manifests, and jobs of traces in their queues."""

from typing import Any

import pytest

from muster.forecast.configuration import ConfigurationError
from muster.forecast.placement import Mapped, place
from muster.forecast.queue_objects import from_manifests, parse_controller
from tests.unit.forecast.builders import CHECKED, VERSION, configured, flavor, job, provisioned, queue


def local_queue(namespace: str, name: str, target: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": VERSION,
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": target},
    }


BROKEN: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "nothing": ([], "{}", "no ClusterQueue"),
    "a quota that is no quantity": ([queue("a", "many")], "{}", "many"),
    "a field of the wrong type": ([queue("a", 8, cohortName=5)], "{}", "ClusterQueue a"),
    "an unknown key of the controller": ([queue("a", 8)], '{"waitForPod": {}}', "waitForPod"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_configuration_is_refused(name: str) -> None:
    manifests, controller, message = BROKEN[name]
    with pytest.raises(ConfigurationError, match=message):
        from_manifests("test", manifests, parse_controller("test", controller))


def test_checks_of_provisioning_requests_say_which_flavors_wait_for_nodes() -> None:
    strategy = {"admissionChecks": [{"name": "capacity", "onFlavors": ["h100"]}]}
    configuration = configured(
        queue("all", 8, **CHECKED),
        queue("some", 8, admissionChecksStrategy=strategy),
        queue("none", 8),
        *provisioned(backoffBaseSeconds=7),
    )
    assert configuration.provisioned == {"all": {"h100"}, "some": {"h100"}, "none": frozenset()}
    assert configuration.retry.wait_s(2) == 14


PLACES: dict[str, tuple[dict[str, str], Mapped, str | None]] = {
    "by ClusterQueue": ({"queue": "a"}, Mapped(), "a"),
    "by LocalQueue": ({"queue": "team/main"}, Mapped(), "b"),
    "by a namespace with one queue": ({"queue": "team"}, Mapped(), "b"),
    "by a map": ({"queue": "gpu-partition"}, Mapped({"gpu-partition": "team/main"}), "b"),
    "by user": ({"queue": "", "user": "team"}, Mapped(), "b"),
    "by default": ({"queue": "unknown"}, Mapped(queue="a"), "a"),
    "by a map of its user, before its own queue": (
        {"queue": "a", "user": "ann"},
        Mapped({"ann": "b"}),
        "b",
    ),
    "nowhere": ({"queue": "unknown"}, Mapped(), None),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_job_is_placed(name: str) -> None:
    of, mapped, expected = PLACES[name]
    configuration = configured(queue("a", 8), queue("b", 8), local_queue("team", "main", "b"))
    placement = place([job("one", 0, 1, **of)], configuration, mapped)  # type: ignore[arg-type]
    assert [placed.queue for placed in placement.jobs] == ([expected] if expected else [])
    assert dict(placement.left_out) == (
        {} if expected else {"queue 'unknown' is not in the configuration": 1}
    )


MISSING: dict[str, tuple[Mapped, str]] = {
    "a mapped queue": (
        Mapped({"ann": "new"}, queue="a"),
        "queue 'new', to which 'ann' is mapped, is not in the configuration",
    ),
    "the queue of all other jobs": (
        Mapped(queue="new"),
        "queue 'new' of all other jobs is not in the configuration",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_job_has_no_other_queue_than_the_mapped_one(name: str) -> None:
    """Otherwise, `muster plan` would move the job silently, as the queue is in one configuration only."""
    mapped, problem = MISSING[name]
    placement = place([job("one", 0, 1, queue="research", user="ann")], configured(queue("a", 8)), mapped)
    assert (list(placement.jobs), placement.left_out) == ([], {problem: 1})


def test_cluster_queues_of_the_older_api_are_converted() -> None:
    old = queue("old", 8, cohort="ml", admissionChecks=["capacity"])
    configuration = configured(old | {"apiVersion": "kueue.x-k8s.io/v1beta1"}, *provisioned())
    assert configuration.snapshot.cluster_queues["old"].cohort == "ml"
    assert configuration.provisioned == {"old": {"h100"}}


def test_other_manifests_are_ignored() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert set(from_manifests("test", [pod, flavor(), queue("a", 1)]).snapshot.cluster_queues) == {"a"}
