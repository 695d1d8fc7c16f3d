"""Values that may be meant, but are more likely mistakes: the stack is accepted with a warning."""

from pathlib import Path
from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import FILE, put

TENANT = ("muster:tenants", 0)


def likely_mistakes(config: dict[str, Any]) -> list[str]:
    """Returns the warnings, except that of the valid stack itself."""
    return [text for text in warnings(parse(config, FILE)) if "privateNodes" not in text]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a Pulumi.yaml, where its program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_trace_that_does_not_exist_is_a_warning(folder: Path) -> None:
    config = put("muster:forecast", {"trace": "traces/week.csv"})
    assert likely_mistakes(config) == [
        "muster:forecast.trace\n"
        '  given:  "traces/week.csv"\n'
        "  why:    the folder of Pulumi.yaml has no such file: forecasts of this stack fail until it exists\n"
        "  source: docs/forecast.md"
    ]
    (folder / "traces").mkdir()
    (folder / "traces" / "week.csv").touch()
    assert likely_mistakes(config) == []


def test_a_client_similar_to_a_tenant_is_a_warning() -> None:
    assert likely_mistakes(put(*TENANT, "network", {"clients": ["web", "taem-a"]})) == [
        "muster:tenants[0].network.clients[1]\n"
        '  given:  "taem-a"\n'
        "  why:    no tenant has this namespace, so only pods of a namespace outside the stack get in; "
        "did you mean team-a?\n"
        "  source: Kubernetes, NetworkPolicy: namespaceSelector"
    ]


@pytest.mark.parametrize("client", ["team-b", "web"], ids=["a tenant", "made elsewhere"])
def test_other_clients_are_no_warning(client: str) -> None:
    config = put("muster:tenants", 1, {"namespace": "team-b", "queues": {"user-queue": "team-a"}})
    config["muster:tenants"][0]["network"] = {"clients": [client]}
    assert likely_mistakes(config) == []


def test_an_existing_cluster_may_lack_the_secret_manager_add_on() -> None:
    api_server = [{"cidr": "10.0.0.2/32", "ports": [443]}]
    gke = {"kind": "existing", "name": "ray", "apiServer": api_server, "gke": {"location": "us-west1-b"}}
    tenant = {"namespace": "team-a", "queues": {"user-queue": "team-a"}, "identity": {}}
    config = put("muster:cluster", gke)
    assert likely_mistakes(config | {"muster:tenants": [tenant]}) == []
    (warning,) = likely_mistakes(config | {"muster:tenants": [{**tenant, "secrets": [{"name": "hf-token"}]}]})
    assert warning == (
        "muster:tenants[0].secrets\n"
        '  given:  [{"name": "hf-token"}]\n'
        "  why:    the stack did not create this cluster and does not enable its Secret Manager add-on; if "
        "it is off, run `gcloud container clusters update ray --location=us-west1-b "
        "--enable-secret-manager`\n"
        "  source: GKE, Use Secret Manager add-on"
    )
