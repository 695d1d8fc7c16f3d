"""Running the CLI and reading its results, with a shell script as the engine."""

import json
import os
from pathlib import Path

import pytest

from preview.plugins.choice import Choice
from preview.pulumi_cli import PulumiCli, PulumiError, Stack

STAND_INS = {name: Choice(name, None, "") for name in ("python", "kubernetes", "gcp", "docker-build")}


def cli(tmp_path: Path, script: str, **env: str) -> PulumiCli:
    """Returns a CLI whose engine is this shell script; `$events` is the file of --event-log, if given."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "Pulumi.yaml").write_text("name: demo\nruntime: python\nstackConfigDir: stacks\n")
    engine = tmp_path / "engine"
    find_events = 'p=""; for a in "$@"; do [ "$p" = --event-log ] && events="$a"; p="$a"; done\n'
    engine.write_text(f"#!/bin/sh\n{find_events}{script}\n")
    engine.chmod(0o755)
    return PulumiCli(engine, tmp_path / "run", env=env, project=project, choices=STAND_INS, preloads=False)


def stack(tmp_path: Path, script: str) -> Stack:
    return Stack(cli(tmp_path, script), "demo", tmp_path / "Pulumi.demo.yaml")


def events(*items: object) -> str:
    """Returns script lines that write these engine events."""
    return "".join(f"printf '%s\\n' '{json.dumps(item)}' >> $events\n" for item in items)


def diagnostic(severity: str, message: str) -> dict[str, object]:
    return {"diagnosticEvent": {"severity": severity, "message": message}}


def test_output_goes_to_the_caller_line_by_line_and_to_the_log(tmp_path: Path) -> None:
    printed_lines: list[str] = []
    log = tmp_path / "log"
    text = cli(tmp_path, "echo one; echo two >&2").run(["about"], log, printed_lines.append)
    assert printed_lines == ["one", "two"]
    assert text == log.read_text() == "one\ntwo\n"


def test_users_pulumi_and_cluster_are_not_reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "opensesame")
    observed = cli(tmp_path, "env").run(["about"], tmp_path / "log")
    environment = dict(line.split("=", 1) for line in observed.splitlines() if "=" in line)
    assert "PULUMI_ACCESS_TOKEN" not in environment
    assert not Path(environment["KUBECONFIG"]).exists()
    assert environment["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/run/pulumi/state"
    passphrase = Path(environment["PULUMI_CONFIG_PASSPHRASE_FILE"])
    assert passphrase.stat().st_mode & 0o077 == 0
    assert passphrase.read_text() not in observed


def test_given_kubeconfig_is_used(tmp_path: Path) -> None:
    engine = cli(tmp_path, 'echo "$KUBECONFIG"', KUBECONFIG="/run/kubeconfig")
    assert engine.run(["about"], tmp_path / "log") == "/run/kubeconfig\n"


def test_passphrase_is_kept_for_the_next_run(tmp_path: Path) -> None:
    show = 'cat "$PULUMI_CONFIG_PASSPHRASE_FILE"'
    first = cli(tmp_path, show).run([], tmp_path / "log")
    assert len(first) > 20
    assert cli(tmp_path, show).run([], tmp_path / "log") == first


def test_selecting_a_stack_does_not_change_its_settings(tmp_path: Path) -> None:
    settings = tmp_path / "Pulumi.demo.yaml"
    settings.write_text("config: {}\n")
    engine = cli(tmp_path, 'pwd; cat Pulumi.yaml; echo "encryptionsalt: x" >> Pulumi.demo.yaml')
    selected = engine.select("demo", settings)
    assert settings.read_text() == "config: {}\n"
    assert selected.config != settings
    log = (tmp_path / "run" / "logs" / "pulumi-select-demo.log").read_text()
    assert "stackConfigDir" not in log
    assert not (tmp_path / "project" / "Pulumi.demo.yaml").exists()


def test_key_of_the_real_stack_is_not_used(tmp_path: Path) -> None:
    """The encrypted key is committed with the settings, but Cloud KMS requires an account."""
    settings = tmp_path / "Pulumi.demo.yaml"
    config = "config:\n  gcp:project: acme\n"
    settings.write_text(f"secretsprovider: gcpkms://projects/acme\nencryptedkey: CiQA=\n{config}")
    assert cli(tmp_path, "true").select("demo", settings).config.read_text() == config


@pytest.mark.parametrize(
    ("pid", "is_kept"), [(2**22 + 1, False), (os.getpid(), True)], ids=["of a killed run", "of a live run"]
)
def test_only_the_lock_of_a_killed_run_is_removed(tmp_path: Path, pid: int, is_kept: bool) -> None:
    settings = tmp_path / "Pulumi.demo.yaml"
    settings.write_text("config: {}\n")
    lock = tmp_path / "run/pulumi/state/.pulumi/locks/organization/muster/demo/1.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": pid}))
    cli(tmp_path, "true").select("demo", settings)
    assert lock.exists() is is_kept


def test_outcome_counts_changes(tmp_path: Path) -> None:
    step = {"op": "create", "type": "kubernetes:core/v1:Namespace", "urn": "urn:pulumi:a::b::c::ns"}
    summary = {"resourceChanges": {"create": 1, "same": 2}}
    script = events({"resourcePreEvent": {"metadata": step}}, {"summaryEvent": summary}) + "echo done"
    outcome = stack(tmp_path, script).up()
    assert outcome.counts == {"create": 1}
    assert [(change.op, change.type) for change in outcome.changes] == [(step["op"], step["type"])]
    assert outcome.text == "done\n"


def test_failure_reports_the_engines_errors_and_the_log(tmp_path: Path) -> None:
    script = events(
        diagnostic("warning", "mind the gap"),
        diagnostic("error", "cannot create Namespace a: 403 Forbidden\n"),
        diagnostic("error", "update failed"),
    )
    with pytest.raises(PulumiError) as failure:
        stack(tmp_path, script + "echo noise; exit 255").up()
    assert str(failure.value) == "pulumi up of stack demo: cannot create Namespace a: 403 Forbidden"
    assert failure.value.log is not None
    assert failure.value.log.read_text() == "noise\n"


def test_events_of_a_killed_engine_may_end_in_half_a_line(tmp_path: Path) -> None:
    script = events(diagnostic("error", "half a network")) + "printf '{\"diagno' >> $events; kill -9 $$"
    with pytest.raises(PulumiError, match="half a network"):
        stack(tmp_path, script).up()


def test_failure_before_the_engine_starts_reports_the_last_lines(tmp_path: Path) -> None:
    with pytest.raises(PulumiError, match=r"error: no Pulumi\.yaml"):
        stack(tmp_path, "seq 100; echo 'error: no Pulumi.yaml' >&2; exit 1").preview()


def test_events_of_an_earlier_run_are_not_read(tmp_path: Path) -> None:
    stack(tmp_path, events({"summaryEvent": {"resourceChanges": {"create": 1}}})).preview()
    assert stack(tmp_path, "true").preview().counts == {}
