"""A local Ray head for a RayJob, on the loopback interface with its own ports, and its REST API.

The head represents the whole Ray cluster: it reports the number of GPUs of all workers. Each head requires
its own token, as with the examples' `authOptions`.
"""

import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.stand_ins.ray_pod import RayProgram
from tools.toolchain.paths import CHECKOUT

PORTS = 10
FIRST_PORTS = range(20_000, 30_000, PORTS)  # below the kernel's ephemeral range
CPUS = 4
MEMORY_BYTES, STORE_BYTES = 1_000_000_000, 80_000_000
RESPONSE_SECONDS_MAX = 30.0
DASHBOARD_SECONDS_MAX = 300  # Ray's default of 30 s is too short on a busy machine

RAY_FOLDER = "ray"

JobDetails = dict[str, Any]
"""Ray's details of a job (ray.dashboard JobDetails)."""


class LocalRay:
    """A head, from its start to `stop`."""

    def __init__(self, python: Path, program: RayProgram, gpus: int, folder: Path, log: Path) -> None:
        """Starts the head in the folder, which it owns; appends its output to the log.

        The folder's path must be short, as it contains Ray's sockets, whose paths have at most 107
        characters.
        """
        self._port, self._token = _free_ports(), secrets.token_hex(16)
        self.folder = folder
        command = [str(python.with_name("ray")), *_arguments(self._port, gpus, self.folder / RAY_FOLDER)]
        argv = [sys.executable, "-m", "sandbox.stand_ins.ray_head", str(self.folder), *command]
        environment = {**os.environ, **program.variables, **self._environment(python)}
        with log.open("a") as output:
            self._process = subprocess.Popen(
                argv, env=environment, cwd=CHECKOUT, stdout=output, stderr=subprocess.STDOUT
            )

    def ended(self) -> bool:
        """Returns whether the head's process has ended."""
        return self._process.poll() is not None

    def ready(self) -> bool:
        """Returns whether the dashboard and the agent that runs jobs respond."""
        paths = ((self._port + 1, "/api/gcs_healthz"), (self._port + 3, "/api/local_raylet_healthz"))
        return all(self._call("GET", port, path) is not None for port, path in paths)

    def submit(self, submission: str, program: RayProgram) -> bool:
        """Submits the job; returns False if Ray does not accept it."""
        body = {
            "submission_id": submission,
            "entrypoint": program.entrypoint,
            "runtime_env": dict(program.runtime_env),
        }
        return self._call("POST", self._port + 1, "/api/jobs/", body) is not None

    def job(self, submission: str) -> JobDetails | None:
        """Returns Ray's details of the job; None while Ray does not respond."""
        response = self._call("GET", self._port + 1, f"/api/jobs/{submission}")
        return json.loads(response) if response else None

    def driver_log(self, submission: str) -> bytes:
        """Returns the output of the job."""
        return driver_log(self.folder / RAY_FOLDER, submission)

    def stop(self) -> None:
        """Kills all processes, as at the end of the pods."""
        self._process.terminate()
        self._process.wait()

    def remove(self) -> None:
        """Removes the folder; requires `stop`."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _environment(self, python: Path) -> Mapping[str, str]:
        return {
            "PATH": f"{python.parent}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.folder),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self._token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": str(DASHBOARD_SECONDS_MAX),
        }

    def _call(self, method: str, port: int, path: str, body: object = None) -> bytes | None:
        """Returns the body of the response; None without a response or after an error."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=RESPONSE_SECONDS_MAX) as response:
                content: bytes = response.read()
                return content
        except OSError:  # includes URLError and HTTPError
            return None


def driver_log(folder: Path, submission: str) -> bytes:
    """Returns the log of a job's driver in Ray's folder; empty before the driver starts.

    Does not use the link session_latest, as every starting Ray process removes it briefly.
    """
    logs = folder.glob(f"session_[0-9]*/logs/job-driver-{submission}.log")
    return b"".join(log.read_bytes() for log in logs)


def _arguments(port: int, gpus: int, folder: Path) -> list[str]:
    """Returns the arguments of `ray` for a head that uses this block of ports."""
    flags = {
        # Each head has its own address; Ray would replace 127.0.0.1 with the machine's external address.
        "node-ip-address": f"127.77.{(port - FIRST_PORTS.start) // PORTS // 250}.{port // PORTS % 250 + 1}",
        "port": port,
        "dashboard-host": "127.0.0.1",
        "dashboard-port": port + 1,
        "ray-client-server-port": port + 2,
        "dashboard-agent-listen-port": port + 3,
        "metrics-export-port": port + 5,
        "runtime-env-agent-port": port + 8,
        "num-cpus": CPUS,
        "num-gpus": gpus,
        "memory": MEMORY_BYTES,
        "object-store-memory": STORE_BYTES,
        "temp-dir": folder,
        "include-log-monitor": "false",
    }
    return ["start", "--head", "--block", "--disable-usage-stats", *(f"--{k}={v}" for k, v in flags.items())]


def _free_ports() -> int:
    """Returns the first port of a block of free ports."""
    for first in random.sample(FIRST_PORTS, len(FIRST_PORTS)):
        if all(_is_free(port) for port in range(first, first + PORTS)):
            return first
    raise OSError(f"no {PORTS} free ports in {FIRST_PORTS}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
