"""Cancellation of the program by SIGINT; the official language host runs it in the main thread."""

import subprocess
import sys
import threading

import pytest

from components.program import ALREADY_REPORTED, end_quietly_when_cancelled
from tools.toolchain.paths import CHECKOUT

# Runs the program as pulumi-language-python-exec does, and cancels it at the first resource. With collections
# of garbage, importing the SDKs would take a third more.
HOST = """
import gc
gc.disable()
import asyncio, json, os, runpy, signal
import pulumi, yaml
from pulumi.runtime.mocks import Mocks, set_mocks
from pulumi.runtime.stack import run_pulumi_func

class Cancelling(Mocks):
    def call(self, args):
        return {}, None
    def new_resource(self, args):
        os.kill(os.getpid(), signal.SIGINT)
        return "id", args.inputs

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
set_mocks(Cancelling(), project="muster", stack="local")
config = yaml.safe_load(open("stacks/Pulumi.local.yaml"))["config"]
pulumi.runtime.set_all_config({k: v if isinstance(v, str) else json.dumps(v) for k, v in config.items()})
try:
    async def run():
        runpy.run_path("__main__.py", run_name="__main__")
    loop.run_until_complete(run_pulumi_func(run))
except Exception as error:
    print("failed:", error)
"""


@pytest.mark.thorough
def test_a_cancelled_program_prints_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HOST], cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.stdout, ended.stderr) == ("", "")
    assert ended.returncode == ALREADY_REPORTED


def test_no_signal_handler_is_installed_outside_the_main_thread() -> None:
    failures: list[BaseException] = []

    def program() -> None:
        try:
            end_quietly_when_cancelled()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    assert failures == []
