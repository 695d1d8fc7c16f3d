"""`muster controller`: its identity, its Lease and its configuration."""

from pathlib import Path

import pytest

from muster import cli
from muster.cli import controller
from muster.configuration.address import Address
from muster.configuration.configuration import Configuration
from muster.controller.metrics.metrics import Metrics
from muster.controller.process.process import Options
from muster.controller.process.start_announcer import StartAnnouncer
from muster.kube.kinds import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES

POD = {"POD_NAME": "muster-controller-7c9-wjw", "POD_NAMESPACE": "elsewhere"}


def started_with(monkeypatch: pytest.MonkeyPatch, *arguments: str, **environment: str) -> Options:
    started: list[Options] = []

    async def run(options: Options) -> int:
        started.append(options)
        return 1

    monkeypatch.setattr(controller, "run", run)
    for name in POD:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["controller", *arguments]) == 1
    return started[0]


def test_journal_is_kept_only_in_a_folder_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started_with(monkeypatch).journal is None
    assert started_with(monkeypatch, "--journal=/journal").journal == Path("/journal")


def test_starts_are_estimated_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started_with(monkeypatch).background is None
    background = started_with(monkeypatch, "--eta").background
    assert background is not None
    assert isinstance(background(Metrics(lambda: True)), StartAnnouncer)


def test_identity_and_namespace_come_from_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started_with(monkeypatch, **POD) == Options(
        kubeconfig=None,
        lease="elsewhere/muster-controller",
        identity="muster-controller-7c9-wjw",
        address=Address("", 8080),
        configuration=Configuration(),
    )


def test_outside_a_pod_identities_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (started_with(monkeypatch) for _ in range(2))
    assert first.lease == "muster-system/muster-controller"
    assert first.identity != second.identity


def test_flags_override_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("--lease-namespace=a", "--lease-name=b", "--identity=c", "--http-address=127.0.0.1:9")
    options = started_with(monkeypatch, *flags, **POD)
    assert (options.lease, options.identity, options.address) == ("a/b", "c", Address("127.0.0.1", 9))


def test_configuration_is_parsed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    option = '--configuration={"waitForPodsReady": {"timeout": "90s"}}'
    wait = started_with(monkeypatch, option, **POD).configuration.wait_for_pods_ready
    assert wait is not None
    assert wait.timeout_s == 90
    assert cli.main(["controller", '--configuration={"waitForPod": {}}']) == 2
    assert "Object contains unknown field `waitForPod`" in capsys.readouterr().err


def test_an_invalid_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["controller", "--http-address=8080"]) == 2
    assert "expected HOST:PORT or :PORT, such as :8080, not '8080'" in capsys.readouterr().err


def test_the_help_names_every_kind_of_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["controller", "--help"]) == 0
    output = capsys.readouterr().out
    assert [kind.name for kind in (RAY_JOBS, RAY_CLUSTERS, RAY_SERVICES) if kind.name not in output] == []
