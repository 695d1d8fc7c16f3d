"""Small jobs around the code: locking dependencies, formatting, measuring, previewing a stack offline."""

import subprocess
import sys
from collections.abc import Callable

from sandbox.paths import CHECKOUT, RunState
from sandbox.pulumi_cli import PulumiCli
from sandbox.steps import Screen, StepError
from sandbox.toolchain import ensure_tools

PYTHON_OLDEST = "3.11"


def lock() -> int:
    """Resolves requirements.in and requirements-go.in anew into their lock files, with hashes."""
    for name in ("requirements", "requirements-go"):
        arguments = ["pip", "compile", "--quiet", "--universal", "--python-version", PYTHON_OLDEST]
        arguments += ["--generate-hashes", "--no-header", "--no-emit-index-url"]
        if code := _run("uv", *arguments, f"{name}.in", "--output-file", f"{name}.lock"):
            return code
    return 0


def format_code() -> int:
    """Formats the code and mends what the linter can mend."""
    return _run("ruff", "check", "--fix", ".") or _run("ruff", "format", ".")


def preview(stack: str) -> int:
    """`pulumi preview` of one stack with no cloud account."""
    stacks = sorted(path.stem.removeprefix("Pulumi.") for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
    if stack not in stacks:
        raise StepError(f"no stack {stack!r} in stacks/", try_this=f"one of {', '.join(stacks)}")
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    cli = PulumiCli(pulumi, RunState("preview").root)
    cli.select(stack, CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml").preview(print)
    return 0


def bench() -> int:
    """Prints what this machine needs for each part, beside the targets."""
    return _run("tests.bench")


def _run(module: str, *arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", module, *arguments], cwd=CHECKOUT)


CHORES: tuple[tuple[str, Callable[[], int], str], ...] = (
    ("bench", bench, "measure up, previews, admission and the controller"),
    ("lock", lock, "resolve the Python dependencies anew"),
    ("format", format_code, "format the code"),
)
