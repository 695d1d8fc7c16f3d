"""The admission core as mypyc compiles it for the controller's image: it decides as the interpreted one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.compiled_core import has_compiler, site
from tools.testing.effort import HISTORIES, THOROUGH
from tools.toolchain.paths import CHECKOUT

pytestmark = pytest.mark.skipif(not has_compiler(), reason="no C compiler: the core is not compiled")

CLUSTERS = 500 if THOROUGH else 100


@pytest.fixture(scope="module")
def package() -> Path:
    """The folder with the compiled package, which takes three minutes to make for a new version."""
    return site()


def output(package: Path, *arguments: str) -> str:
    """Returns what a command of Python prints if it imports `muster` from this folder."""
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{CHECKOUT}"}
    command = [sys.executable, "-P", *arguments]
    run = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_core_is_compiled_and_its_sources_lie_beside_it(package: Path) -> None:
    """Python imports the source if the library cannot be loaded."""
    printed = output(package, "-c", "from muster.admission.engine import engine; print(engine.__file__)")
    library = Path(printed.strip())
    assert library.is_relative_to(package)
    assert library.suffix == ".so"
    assert library.with_name("engine.py").is_file()


def test_it_decides_the_same_on_random_clusters(package: Path) -> None:
    clusters = ("-m", "tests.compiled.decided", str(CLUSTERS))
    compiled = output(package, *clusters).splitlines()
    assert compiled == output(CHECKOUT, *clusters).splitlines()
    assert sum("admissions=()" not in line for line in compiled) > CLUSTERS / 2


def test_it_decides_kueues_cases_as_the_interpreted_one(package: Path) -> None:
    options = ("-q", "-o", "pythonpath=", "-p", "no:cacheprovider")
    printed = output(package, "-m", "pytest", *options, "tests/conformance")
    assert " passed" in printed.splitlines()[-1]


@pytest.mark.thorough
def test_its_objects_pass_between_processes(package: Path) -> None:
    """Candidates of `muster recommend` and jobs of `muster backtest` have some."""
    options = ("-q", "-o", "pythonpath=", "-p", "no:cacheprovider")
    folders = ("tests/unit/forecast/recommend/test_evaluation.py", "tests/unit/forecast/backtest")
    printed = output(package, "-m", "pytest", *options, *folders)
    assert " passed" in printed.splitlines()[-1]


@pytest.mark.thorough
def test_the_controller_keeps_its_invariants_with_it(package: Path) -> None:
    count = max(10, HISTORIES // 10)
    printed = output(package, "-m", "tests.simulation.histories", "--histories", str(count))
    assert "none broke anything" in printed
