"""Plugins that run as forks: streams, exit codes, signals, and the end of the processes around them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from preview.plugins import fork_server, launch
from sandbox.cluster.processes import wait_until

SECONDS_MAX = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """Returns the socket of a server that ignores SIGINT, as in the background of a shell's script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield fork_server.start(modules=())
    finally:
        signal.signal(signal.SIGINT, before)


def start(server: Path, folder: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts a plugin of this code as the engine does."""
    folder.mkdir(exist_ok=True)
    (folder / "__main__.py").write_text(code)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", launch.__file__, str(folder), *arguments],
        cwd=folder.parent,
        env={launch.VARIABLE: str(server), "PLACE": "here=there"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_fork_gets_arguments_environment_and_folder_and_returns_output_and_code(
    server: Path, tmp_path: Path
) -> None:
    code = (
        "import os, sys\n"
        "print(os.environ['PLACE'], os.path.basename(os.getcwd()), *sys.argv[1:])\n"
        "print('careful', file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    with start(server, tmp_path / "pack", code, "127.0.0.1:2", "") as plugin:
        assert plugin.communicate(timeout=SECONDS_MAX) == (
            f"here=there {tmp_path.name} 127.0.0.1:2 \n",
            "careful\n",
        )
    assert plugin.returncode == 3


def test_without_a_server_a_plugin_gets_an_interpreter_of_its_own_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "preview").mkdir()
    (tmp_path / "preview" / "__init__.py").write_text("raise ImportError('this is an older checkout')\n")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", launch.__file__, "preview.plugins.docker_build_provider", "127.0.0.1:2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as plugin:
        assert plugin.stdout is not None
        assert int(plugin.stdout.readline()) > 0  # the port that it serves on
        plugin.terminate()
    assert plugin.returncode == -signal.SIGTERM


ENDS = {
    "returns": ("pass", 0, ""),
    "fails": ("raise ValueError('broken')", 1, "ValueError: broken\n"),
    "exits with a text": ("import sys; sys.exit('no port')", 1, "no port\n"),
    "exits without a code": ("import sys; sys.exit()", 0, ""),
    "is killed": ("import os; os.kill(os.getpid(), 9)", 137, ""),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_a_fork_is_reported_as_that_of_a_process(server: Path, tmp_path: Path, name: str) -> None:
    code, expected, last = ENDS[name]
    with start(server, tmp_path / "pack", code) as plugin:
        _, errors = plugin.communicate(timeout=SECONDS_MAX)
    assert plugin.returncode == expected
    assert errors.endswith(last)
    assert bool(errors) == bool(last)


# A signal that arrives just before a sleep begins is handled when that sleep ends, so it sleeps briefly.
WAITS = "import os, time\nprint(os.getpid(), flush=True)\nfor _ in range(600): time.sleep(0.1)\n"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1), (signal.SIGKILL, -9)]
)
def test_signal_to_the_launcher_ends_the_fork(
    server: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with start(server, tmp_path / "pack", WAITS) as plugin:
        assert plugin.stdout is not None
        fork = int(plugin.stdout.readline())
        plugin.send_signal(number)
        assert plugin.wait(SECONDS_MAX) == code
    wait_until("the end of the fork", lambda: not psutil.pid_exists(fork), SECONDS_MAX)


STARTS = """
import sys
from preview.plugins import fork_server
print(fork_server.start(modules=()), flush=True)
sys.stdin.read()
"""


def test_forks_end_with_the_process_that_started_their_server(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        env={**os.environ, "PYTHONPATH": str(launch.CHECKOUT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        server = Path(owner.stdout.readline().rstrip("\n"))
        with start(server, tmp_path / "pack", WAITS) as plugin:
            assert plugin.stdout is not None
            fork = int(plugin.stdout.readline())
            owner.kill()
            assert plugin.wait(SECONDS_MAX) == 1
    wait_until("the end of the fork", lambda: not psutil.pid_exists(fork), SECONDS_MAX)
    assert not server.parent.exists()


def test_a_program_of_another_checkout_imports_its_own_modules(tmp_path: Path) -> None:
    server = fork_server.start(modules=("policies.environment", "yaml"))
    code = (
        "import sys\n"
        "print('policies.environment' in sys.modules, 'yaml' in sys.modules)\n"
        "from policies import environment\n"
        "print(environment.__file__)\n"
    )
    (tmp_path / "pack" / "policies").mkdir(parents=True)
    own = tmp_path / "pack" / "policies" / "environment.py"
    own.write_text("")
    own.with_name("__init__.py").write_text("")
    with start(server, tmp_path / "pack", code) as plugin:
        output, errors = plugin.communicate(timeout=SECONDS_MAX)
    assert (output, errors) == (f"False True\n{own}\n", "")
