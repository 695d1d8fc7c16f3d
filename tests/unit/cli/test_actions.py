"""The verbs that act: their input, and the exit codes of `muster submit`."""

from typing import Any

import pytest

from muster import cli
from muster.cli.submit import exit_code, prepared
from muster.cli.verb import InputError
from muster.kube import kinds
from muster.live.acting.progress import JobProgress, JobStage

JOB: dict[str, Any] = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "dev"}}


@pytest.mark.parametrize(
    ("manifest", "key"),
    [
        pytest.param(JOB, "team-a/dev", id="without a namespace"),
        pytest.param({**JOB, "metadata": {"name": "dev", "namespace": "b"}}, "b/dev", id="with its own"),
    ],
)
def test_a_manifest_gets_a_namespace(manifest: dict[str, Any], key: str) -> None:
    kind, body = prepared(manifest, "team-a")
    assert kind is kinds.RAY_JOBS
    assert f"{body['metadata']['namespace']}/{body['metadata']['name']}" == key


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param(
            {**JOB, "kind": "Job"}, "Job: expected one of RayJob, RayCluster, RayService", id="kind"
        ),
        pytest.param({**JOB, "apiVersion": "ray.io/v1alpha1"}, "expected one of", id="version"),
        pytest.param({**JOB, "metadata": {}}, "RayJob without metadata.name", id="name"),
    ],
)
def test_other_manifests_are_refused(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepared(manifest, "team-a")


@pytest.mark.parametrize(
    ("progress", "until", "code"),
    [
        pytest.param(JobProgress(JobStage.QUEUED, ""), JobStage.RUNNING, None, id="it waits"),
        pytest.param(JobProgress(JobStage.QUEUED, "", refused=True), JobStage.RUNNING, 5, id="it is refused"),
        pytest.param(JobProgress(JobStage.RUNNING, ""), JobStage.RUNNING, 0, id="it runs"),
        pytest.param(JobProgress(JobStage.RUNNING, ""), JobStage.ENDED, None, id="it must end"),
        pytest.param(
            JobProgress(JobStage.ENDED, ""), JobStage.RUNNING, 0, id="it was too short to be seen running"
        ),
        pytest.param(JobProgress(JobStage.ENDED, "", failed=True), JobStage.RUNNING, 1, id="it failed"),
    ],
)
def test_exit_codes_of_submit(progress: JobProgress, until: JobStage, code: int | None) -> None:
    assert exit_code(progress, until) == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["stop", "workload", "rayjob/a", "--keep-running"],
            "muster stop: --keep-running is for queues\n",
            id="an option of queues",
        ),
        pytest.param(
            ["stop", "job", "a"], "'job' is not one of 'workload', 'queue', 'localqueue'", id="what"
        ),
        pytest.param(
            ["doctor", "--lease", "muster"],
            "muster doctor: --lease: 'muster'; expected NAMESPACE/NAME\n",
            id="a lease without a namespace",
        ),
        pytest.param(["submit", "/nowhere.yaml"], "muster submit: /nowhere.yaml: No such file", id="no file"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err
