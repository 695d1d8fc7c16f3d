"""The trace in examples/traces: its specification gives it, for the queues of the production stack."""

from pathlib import Path

import pytest

from muster.forecast.traces import __main__ as command
from muster.forecast.traces.read import read
from settings.load import load

FOLDER = Path(__file__).parents[4] / "examples" / "traces"
TRACE = FOLDER / "three-teams.csv"
SETTINGS = load(FOLDER.parents[1] / "stacks" / "Pulumi.prod.yaml")


def test_trace_is_generated_by_the_command_in_its_readme(capsys: pytest.CaptureFixture[str]) -> None:
    seed = ["--seed", "7"]
    written = ["python", "-m", "muster.forecast.traces", "examples/traces/three-teams.yaml", *seed]
    assert " ".join(written) in (FOLDER / "README.md").read_text()
    assert command.main([str(FOLDER / "three-teams.yaml"), *seed]) == 0
    assert capsys.readouterr().out == TRACE.read_text()


def test_trace_has_two_weeks_of_jobs_for_every_queue() -> None:
    trace = read(TRACE).trace
    assert (len(trace.jobs), trace.bad_count, trace.skipped, trace.adjusted) == (2_000, 0, {}, {})
    assert 13 < trace.jobs[-1].submit_ms / 86_400_000 < 15
    assert {job.queue for job in trace.jobs} == {queue.name for queue in SETTINGS.queues.cluster_queues}
    assert {job.priority_class for job in trace.jobs} <= set(SETTINGS.admission.priorities)


def test_missing_specification_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["no-such-file.yaml"]) == 1
    assert "no-such-file.yaml: No such file or directory" in capsys.readouterr().err
