"""`pip install .`: a `muster` command and a typed package, and nothing that could collide with another's."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.toolchain.paths import CHECKOUT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's contents, as pip would put them into site-packages."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_wheel_holds_one_typed_package(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert packages == {"muster"}
    assert (installed / "muster" / "py.typed").exists()


def test_entry_point_is_a_working_command(installed: Path) -> None:
    (entry_points,) = installed.glob("*.dist-info/entry_points.txt")
    scripts = entry_points.read_text().splitlines()
    assert {"muster = muster.cli:main", "kubectl-muster = muster.cli:main"} <= set(scripts)
    code = "from muster.cli import main; main(['controller', '--help'])"
    completed = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(installed)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.startswith("Usage: muster controller")


def test_a_missing_extra_is_named(installed: Path) -> None:
    block = "sys.modules['rich'] = sys.modules['rich.console'] = None"
    code = f"{block}; from muster.cli import main; sys.exit(main(['forecast', '--assumptions']))"
    completed = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(installed)!r}); {code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 2
    assert "pip install 'muster[forecast]'" in completed.stderr


def test_license_is_in_the_wheel(installed: Path) -> None:
    (license_file,) = installed.glob("*.dist-info/licenses/LICENSE")
    assert "Apache License" in license_file.read_text()


@pytest.mark.parametrize("package", ["forecast", "live"])
def test_page_has_its_assets_in_the_wheel(installed: Path, package: str) -> None:
    assets = Path("muster", package, "page", "assets")
    expected = {
        path.relative_to(CHECKOUT / assets) for path in (CHECKOUT / assets).rglob("*") if path.is_file()
    }
    assert {
        path.relative_to(installed / assets) for path in (installed / assets).rglob("*") if path.is_file()
    } == expected


def test_license_of_the_charts_library_is_in_the_wheel(installed: Path) -> None:
    assert list(installed.glob("muster/forecast/page/assets/vendor/uPlot.LICENSE.txt"))


def test_no_compiled_code_is_in_the_checkout() -> None:
    """A compiled module would be imported in place of the newer sources."""
    assert not list((CHECKOUT / "muster").rglob("*.so"))
