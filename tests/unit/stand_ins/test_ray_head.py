"""The supervisor of a Ray head ends all processes that the head started, in any process group."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

# A daemon: in its own session, and its parent has ended.
DAEMON = (
    "import os, sys, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        print(os.getpid(), flush=True)\n"
    "        time.sleep(60)\n"
    "    os._exit(0)\n"
    "time.sleep(float(sys.argv[1]))\n"
)


@pytest.mark.parametrize("head_seconds", ["60", "0.1"], ids=["terminated", "head ends by itself"])
def test_daemons_of_a_head_end_with_it(tmp_path: Path, head_seconds: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    head = [sys.executable, "-c", DAEMON, head_seconds]
    argv = [sys.executable, "-m", "sandbox.stand_ins.ray_head", str(folder), *head]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        daemon = psutil.Process(int(supervisor.stdout.readline()))
        if head_seconds == "60":
            supervisor.terminate()
        assert supervisor.wait(timeout=30) == 0
        assert not daemon.is_running() or daemon.status() == psutil.STATUS_ZOMBIE
    assert folder.exists()  # the stand-in reads logs in it
