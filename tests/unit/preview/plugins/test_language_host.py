"""Plugins written in Python, such as policy packs, that the language host runs for the engine."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pulumi.runtime.proto import language_pb2

from preview.plugins.language_host import ProgramServer


class Call:
    """The engine's side of a call: it may hang up before the plugin runs, or at its first line."""

    def __init__(self, *, hung_up: bool = False, hangs_up: bool = False) -> None:
        self.hung_up, self.hangs_up = hung_up, hangs_up
        self.hang_up: Callable[[], None] = lambda: None

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self.hang_up = callback
        return not self.hung_up


def run(
    program: Path, code: str, call: Call, arguments: tuple[str, ...] = ()
) -> list[language_pb2.RunPluginResponse]:
    """Returns all responses of the host."""
    program.mkdir()
    (program / "__main__.py").write_text(code)
    request = language_pb2.RunPluginRequest(
        pwd=str(program.parent),
        info=language_pb2.ProgramInfo(program_directory=str(program)),
        args=arguments,
        env=["PLACE=here=there", "PLACE=elsewhere"],
    )
    answers = []
    for answer in ProgramServer("127.0.0.1:1").RunPlugin(request, call):
        answers.append(answer)
        # Unbuffered, a line may arrive in pieces; only its end arrives once.
        if call.hangs_up and answer.stdout.endswith(b"\n"):
            call.hang_up()
    return answers


def test_plugin_gets_arguments_and_environment_and_returns_its_output(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "print(os.environ['PLACE'], os.path.basename(os.getcwd()), *sys.argv[1:])\n"
        "print('careful', file=sys.stderr)\n"
        "sys.exit(3)\n"
    )
    answers = run(tmp_path / "pack", code, Call(), ("127.0.0.1:2",))
    assert (
        b"".join(answer.stdout for answer in answers).decode() == f"elsewhere {tmp_path.name} 127.0.0.1:2\n"
    )
    assert b"".join(answer.stderr for answer in answers) == b"careful\n"
    assert [answer.exitcode for answer in answers if answer.HasField("exitcode")] == [3]


@pytest.mark.parametrize("hung_up", [True, False], ids=["before it ran", "while it runs"])
def test_plugin_ends_when_the_engine_hangs_up(tmp_path: Path, hung_up: bool) -> None:
    long = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"
    answers = run(tmp_path / "pack", long, Call(hung_up=hung_up, hangs_up=not hung_up))
    assert answers[-1].exitcode == -15
