"""A machine that deploys installs requirements/deploy.lock only."""

import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
LOCK = CHECKOUT / "requirements" / "deploy.lock"
# Each is what a command of the workflows imports; `pulumi up` imports the program's modules.
COMMANDS = {
    "the program": "import components.platform, components.program, settings.load",
    "the policy pack": "import policies.pack, policies.server",
    "python -m drift": "import drift.__main__",
}
# Fails imports of modules that no package of the lock has.
GUARD = """
import sys
class Guard:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Guard())
"""


def absent() -> set[str]:
    """Returns the modules of packages that are installed here, but not in the lock."""
    names = {name.lower() for name in re.findall(r"(?m)^([A-Za-z0-9._-]+)==", LOCK.read_text())}
    return {
        module
        for module, packages in packages_distributions().items()
        if not names & {re.sub(r"[-_.]+", "-", package).lower() for package in packages}
    }


def imported(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", GUARD.format(absent=absent()) + code]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=CHECKOUT)


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_the_lock_is_enough_to_deploy(command: str) -> None:
    done = imported(COMMANDS[command])
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_every_direct_requirement_is_imported() -> None:
    """By one of the commands; others would only take space and time."""
    direct = re.findall(r"(?m)^([A-Za-z0-9-]+)", (LOCK.with_suffix(".in")).read_text())
    modules = {
        name: {
            module
            for module, packages in packages_distributions().items()
            if name.lower() in {package.lower().replace("_", "-") for package in packages}
        }
        for name in direct
    }
    done = imported(f"{'; '.join(COMMANDS.values())}; print(*sys.modules)")
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert [name for name, of in modules.items() if not of & loaded] == []


def test_a_package_that_is_not_in_the_lock_cannot_be_imported() -> None:
    assert "ModuleNotFoundError: hypothesis" in imported("import hypothesis").stderr
