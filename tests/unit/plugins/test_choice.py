"""Official plugin or stand-in, and where the engine finds them."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sandbox.plugins.choice import LANGUAGE_HOST, Choice, Installed, choose_plugins, wanted_versions
from sandbox.plugins.launchers import install_engine, install_providers

WANTED = {"pulumi": "3.259.0", "kubernetes": "4.34.2", "gcp": "10.2.0", "docker-build": "0.0.22"}
CLI = Path("/opt/pulumi/pulumi")
HOST = CLI.with_name(LANGUAGE_HOST)
ALL = {f"{name}-v{WANTED[name]}": Path("/p") for name in ("kubernetes", "gcp", "docker-build")}
KUBERNETES = Path("/home/me/.pulumi/plugins/resource-kubernetes-v4.34.2")


@pytest.mark.parametrize(
    ("installed", "official", "why"),
    [
        pytest.param(Installed(), set(), {"python": "no pulumi on PATH"}, id="nothing"),
        pytest.param(Installed(CLI, "3.259.0", HOST), {"python"}, {}, id="the CLI"),
        pytest.param(
            Installed(CLI, "3.258.0", HOST),
            set(),
            {"python": "pulumi on PATH is 3.258.0, wanted is 3.259.0"},
            id="another CLI",
        ),
        pytest.param(
            Installed(CLI, "3.259.0", None),
            set(),
            {"python": f"no {LANGUAGE_HOST} beside {CLI}"},
            id="a CLI that was built alone",
        ),
        pytest.param(
            Installed(plugins={"kubernetes-v4.34.2": KUBERNETES, "gcp-v9.0.0": Path("/p")}),
            {"kubernetes"},
            {"gcp": "wanted is 10.2.0, installed is gcp-v9.0.0"},
            id="plugins without the CLI",
        ),
        pytest.param(
            Installed(CLI, "3.259.0", HOST, ALL),
            {"python", "kubernetes", "gcp", "docker-build"},
            {},
            id="everything",
        ),
        pytest.param(
            Installed(plugins={"kubernetes-cert-manager-v4.34.2": Path("/p")}),
            set(),
            {"kubernetes": "wanted is 4.34.2, installed is none"},
            id="a plugin of a similar name",
        ),
    ],
)
def test_choose_plugins(installed: Installed, official: set[str], why: dict[str, str]) -> None:
    choices = choose_plugins(WANTED, installed)
    assert set(choices) == {"python", "kubernetes", "gcp", "docker-build"}
    assert {name for name, choice in choices.items() if choice.official} == official
    assert {name: choices[name].why for name in why} == why


STAND_IN = Choice("python", None, "")


def test_the_engine_lies_beside_its_language_host(tmp_path: Path) -> None:
    binary = tmp_path / "cache" / "pulumi"
    binary.parent.mkdir()
    binary.write_text("engine")
    engine = install_engine(tmp_path / "bin", binary, sys.executable, STAND_IN)
    install_engine(tmp_path / "bin", binary, sys.executable, STAND_IN)  # again changes nothing
    assert engine.resolve().parent == tmp_path / "bin"  # the engine resolves links before it looks around
    assert engine.with_name(LANGUAGE_HOST).stat().st_mode & 0o111
    binary.unlink()
    binary.write_text("newer engine")
    assert install_engine(tmp_path / "bin", binary, sys.executable, STAND_IN).read_text() == "newer engine"


def test_an_official_engine_is_used_where_it_is(tmp_path: Path) -> None:
    official = Choice("python", HOST, "")
    assert install_engine(tmp_path / "bin", tmp_path / "ours", sys.executable, official) == CLI
    assert not (tmp_path / "bin").exists()


def test_a_provider_changes_from_stand_in_to_official_and_back(tmp_path: Path) -> None:
    official = tmp_path / "official"
    official.mkdir()
    folder = tmp_path / "home" / "plugins" / "resource-gcp-v10.2.0"
    for choice in (None, official, None):
        install_providers(tmp_path / "home", sys.executable, WANTED, {"gcp": Choice("gcp", choice, "")})
        assert folder.is_symlink() is (choice is not None)
    assert list(official.iterdir()) == []
    assert (folder / "pulumi-resource-gcp").stat().st_mode & 0o111


def test_a_launcher_runs_the_module_from_any_folder(tmp_path: Path) -> None:
    python = tmp_path / "my python"
    python.write_text('#!/bin/sh\necho "$PYTHONPATH" "$@"\n')
    python.chmod(0o755)
    install_providers(tmp_path, str(python), WANTED, {"gcp": Choice("gcp", None, "")})
    launcher = tmp_path / "plugins" / "resource-gcp-v10.2.0" / "pulumi-resource-gcp"
    said = subprocess.run([launcher, "127.0.0.1:1"], cwd=tmp_path, capture_output=True, text=True, check=True)
    checkout = Path(__file__).parents[3]
    assert said.stdout == f"{checkout} -P -m sandbox.plugins.gcp_provider 127.0.0.1:1\n"


def test_a_plugin_with_a_dash_is_a_module_without_one(tmp_path: Path) -> None:
    install_providers(tmp_path, "python", WANTED, {"docker-build": Choice("docker-build", None, "")})
    launcher = tmp_path / "plugins" / "resource-docker-build-v0.0.22" / "pulumi-resource-docker-build"
    assert "-m sandbox.plugins.docker_build_provider" in launcher.read_text()


def test_every_wanted_provider_has_a_stand_in() -> None:
    for name in set(wanted_versions()) - {"pulumi"}:
        assert find_spec(f"sandbox.plugins.{name.replace('-', '_')}_provider") is not None
