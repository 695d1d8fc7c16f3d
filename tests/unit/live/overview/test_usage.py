"""Use of flavors, and of teams."""

from muster.live.overview.document import document
from muster.live.overview.overview import Overview, overview
from muster.live.overview.usage import TeamUsage, flavor_usage, team_usage
from tests.simulation.manifests import GPU, ray_job
from tests.unit.controller.builders import NOW_MS
from tests.unit.live.builders import cluster, finished, running, waiting


def usage_overview() -> Overview:
    return overview(
        cluster(
            running(ray_job("dev")),
            waiting(ray_job("one", workers=2)),
            waiting(ray_job("two", namespace="team-b", workers=1)),
            finished(ray_job("old")),
        ),
        NOW_MS,
    )


def test_flavors_have_the_quota_and_usage_of_all_queues() -> None:
    usage_by_flavor = {
        (observation.flavor, observation.resource): observation
        for observation in flavor_usage(usage_overview())
    }
    gpus = usage_by_flavor["l4", GPU]
    assert (gpus.nominal, gpus.used, gpus.workloads) == (8, 4, 1)
    assert (usage_by_flavor["cpu", "cpu"].nominal, usage_by_flavor["cpu", "cpu"].workloads) == (16_000, 1)


def test_teams_are_namespaces() -> None:
    team_a, team_b = team_usage(usage_overview())
    assert (team_a.namespace, team_a.running, team_a.waiting) == ("team-a", 1, 1)
    assert (team_a.used[GPU], team_a.demand[GPU], team_a.oldest_ms) == (4, 2, NOW_MS - 60_000)
    assert (team_b.namespace, team_b.running, team_b.demand[GPU]) == ("team-b", 0, 1)
    assert team_b.used == {}


def test_a_team_that_waits_for_nothing_has_no_oldest() -> None:
    (team,) = team_usage(overview(cluster(running(ray_job("dev"))), NOW_MS))
    assert isinstance(team, TeamUsage)
    assert team.oldest_ms is None


def test_document_of_usage() -> None:
    flavors, teams = document(flavor_usage(usage_overview())), document(team_usage(usage_overview()))
    cpu = {"flavor": "cpu", "resource": "cpu", "nominal": "16", "used": "2", "workloads": 1}
    assert cpu in flavors
    assert teams[0]["used"][GPU] == "4"
