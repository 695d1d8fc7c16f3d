"""The program of a RayJob on this machine: entrypoint, variables and GPUs of its head and workers."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster.kinds import Object
from sandbox.stand_ins.ray_pod import gpus, mounts, program
from tools.toolchain.paths import CHECKOUT

EXAMPLE = "dev-train.rayjob.yaml"


def rayjob(**spec: Any) -> Object:
    documents = yaml.safe_load_all((CHECKOUT / "examples" / EXAMPLE).read_text())
    job: Object = next(m for m in documents if m["kind"] == "RayJob")
    job["spec"] |= spec
    job["status"] = {"rayClusterName": "train-abc-x1y2z"}
    return job


FOLDERS = {"/home/ray/train": Path("/tmp/1"), "/home/ray/checkpoints": Path("/volumes/disk-0")}


def test_mounted_paths_are_replaced_in_entrypoint_and_environment() -> None:
    entrypoint = program(rayjob(), FOLDERS)
    assert entrypoint.entrypoint == "python /tmp/1/train.py"
    assert entrypoint.variables == {"CHECKPOINTS": "/volumes/disk-0", "RAY_CLUSTER_NAME": "train-abc-x1y2z"}
    assert entrypoint.runtime_env == {}


@pytest.mark.parametrize(
    ("entrypoint", "line"),
    [
        pytest.param("python a.py  --x", "python a.py --x", id="words"),
        pytest.param('python -c "print(1, 2)"', 'python -c "print(1, 2)"', id="an inline program"),
        pytest.param("python -c 'print(1)\nprint(2, 3)'", 'python -c "print(1)\nprint(2, 3)"', id="lines"),
    ],
)
def test_the_entrypoint_is_the_line_that_the_submitter_passes_on(entrypoint: str, line: str) -> None:
    assert program(rayjob(entrypoint=entrypoint), {}).entrypoint == line


def test_the_longest_mounted_path_is_replaced_first() -> None:
    folders = {"/data": Path("/1"), "/data/more": Path("/2")}
    entrypoint = program(rayjob(entrypoint="python /data/more/a.py /data/b"), folders)
    assert entrypoint.entrypoint == "python /2/a.py /1/b"


def test_the_runtime_environment_is_passed_on() -> None:
    job = rayjob(runtimeEnvYAML="env_vars: {A: '1'}")
    assert program(job, {}).runtime_env == {"env_vars": {"A": "1"}}


def test_mounts_are_the_heads_volumes_by_path() -> None:
    volumes_by_path = {path: set(volume) - {"name"} for path, volume in mounts(rayjob()).items()}
    assert volumes_by_path == {
        "/home/ray/train": {"configMap"},
        "/home/ray/checkpoints": {"persistentVolumeClaim"},
    }


def test_gpus_of_all_workers_are_counted() -> None:
    assert gpus(rayjob()) == 4
