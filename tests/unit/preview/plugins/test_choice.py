"""The choice of official plugins or stand-ins, and their installation for the engine."""

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from preview.plugins import launch
from preview.plugins.choice import (
    LANGUAGE_HOST,
    Choice,
    Installed,
    choose_offline,
    choose_plugins,
    find_installed,
    sources,
    wanted_versions,
)
from preview.plugins.launchers import install_engine, install_providers

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
            {"python": f"no {LANGUAGE_HOST} next to {CLI}"},
            id="a CLI without a language host",
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
def test_official_plugins_are_chosen_in_the_wanted_version_only(
    installed: Installed, official: set[str], why: dict[str, str]
) -> None:
    choices = choose_plugins(WANTED, installed)
    assert set(choices) == {"python", "kubernetes", "gcp", "docker-build"}
    assert {name for name, choice in choices.items() if choice.official} == official
    assert {name: choices[name].why for name in why} == why


OFFLINE = Choice("python", None, "")


def test_engine_is_beside_its_language_host(tmp_path: Path) -> None:
    binary = tmp_path / "cache" / "pulumi"
    binary.parent.mkdir()
    binary.write_text("engine")
    engine = install_engine(tmp_path / "bin", binary, sys.executable, OFFLINE)
    install_engine(tmp_path / "bin", binary, sys.executable, OFFLINE)  # repeating it changes nothing
    assert engine.resolve().parent == tmp_path / "bin"  # the engine resolves links before it searches
    assert engine.with_name(LANGUAGE_HOST).stat().st_mode & 0o111
    binary.unlink()
    binary.write_text("newer engine")
    assert install_engine(tmp_path / "bin", binary, sys.executable, OFFLINE).read_text() == "newer engine"


def test_official_engine_is_used_in_place(tmp_path: Path) -> None:
    official = Choice("python", HOST, "")
    assert install_engine(tmp_path / "bin", tmp_path / "ours", sys.executable, official) == CLI
    assert not (tmp_path / "bin").exists()


def installed_plugin(home: Path, plugin: str = "gcp-v10.2.0", executable: str = "") -> Path:
    """Creates a plugin as Pulumi installs it; `executable` is its content."""
    folder = home / "plugins" / f"resource-{plugin}"
    folder.mkdir(parents=True)
    file = folder / f"pulumi-resource-{plugin.rpartition('-v')[0]}"
    file.write_text(f"#!/bin/sh\n{executable}\n")
    file.chmod(0o755)
    (folder / "LICENSE").write_text("free")
    return folder


def test_official_plugin_is_a_real_folder_of_links(tmp_path: Path) -> None:
    """The engine skips plugin folders that are symbolic links."""
    official = installed_plugin(tmp_path / "user")
    folder = tmp_path / "home" / "plugins" / official.name
    folder.parent.mkdir(parents=True)
    folder.symlink_to(official)  # as left by an earlier version of the sandbox
    for _ in range(2):
        install_providers(tmp_path / "home", sys.executable, WANTED, {"gcp": Choice("gcp", official, "")})
        assert folder.is_dir()
        assert not folder.is_symlink()
        linked = {entry.name: entry.resolve() for entry in folder.iterdir()}
        assert linked == {entry.name: entry for entry in official.iterdir()}


def test_reinstalled_plugin_is_relinked(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for user, executable in (("one", "echo one"), ("two", "echo two")):
        official = installed_plugin(tmp_path / user, executable=executable)
        (official / f"only-{user}").touch()
        install_providers(home, sys.executable, WANTED, {"gcp": Choice("gcp", official, "")})
    folder = home / "plugins" / "resource-gcp-v10.2.0"
    assert "echo two" in (folder / "pulumi-resource-gcp").read_text()
    assert {entry.name for entry in folder.iterdir()} == {"pulumi-resource-gcp", "LICENSE", "only-two"}


def test_provider_can_change_to_the_official_plugin_and_back(tmp_path: Path) -> None:
    official = installed_plugin(tmp_path / "user")
    before = {entry: entry.read_text() for entry in official.iterdir()}
    folder = tmp_path / "home" / "plugins" / "resource-gcp-v10.2.0"
    for choice in (None, official, None):
        install_providers(tmp_path / "home", sys.executable, WANTED, {"gcp": Choice("gcp", choice, "")})
        executable = folder / "pulumi-resource-gcp"
        assert executable.is_symlink() is (choice is not None)
        assert executable.stat().st_mode & 0o111
    assert {entry.name for entry in folder.iterdir()} == {"pulumi-resource-gcp"}
    assert {entry: entry.read_text() for entry in official.iterdir()} == before


def _interrupted(folder: Path) -> None:
    folder.with_name(f"{folder.name}.partial").touch()


def _without_executable(folder: Path) -> None:
    (folder / "pulumi-resource-gcp").unlink()


def _not_executable(folder: Path) -> None:
    (folder / "pulumi-resource-gcp").chmod(0o644)


def _beside_a_lock(folder: Path) -> None:
    folder.with_name(f"{folder.name}.lock").touch()


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (_beside_a_lock, {"gcp-v10.2.0"}),
        (_interrupted, set()),
        (_without_executable, set()),
        (_not_executable, set()),
    ],
    ids=["complete, with the lock that stays", "interrupted", "no executable", "not executable"],
)
def test_only_complete_installations_are_found(
    tmp_path: Path, change: Callable[[Path], None], names: set[str]
) -> None:
    change(installed_plugin(tmp_path))
    assert set(find_installed(tmp_path).plugins) == names


def test_offline_previews_use_no_plugin_that_requires_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = wanted_versions()
    for name in ("kubernetes", "gcp", "docker-build"):
        installed_plugin(tmp_path, f"{name}-v{expected[name]}")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    choices = choose_offline()
    assert {name for name, choice in choices.items() if choice.official} - {"python"} == {"kubernetes"}


def test_launcher_names_the_module(tmp_path: Path) -> None:
    python = tmp_path / "my python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    install_providers(tmp_path, str(python), WANTED, {"gcp": Choice("gcp", None, "")})
    launcher = tmp_path / "plugins" / "resource-gcp-v10.2.0" / "pulumi-resource-gcp"
    ran = subprocess.run([launcher, "127.0.0.1:1"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == f"-I -S {launch.__file__} preview.plugins.gcp_provider 127.0.0.1:1\n"


def test_dash_in_a_plugin_name_is_an_underscore_in_its_module(tmp_path: Path) -> None:
    install_providers(tmp_path, "python", WANTED, {"docker-build": Choice("docker-build", None, "")})
    launcher = tmp_path / "plugins" / "resource-docker-build-v0.0.22" / "pulumi-resource-docker-build"
    assert " preview.plugins.docker_build_provider " in launcher.read_text()


def test_every_wanted_provider_has_an_offline_plugin() -> None:
    for name in set(wanted_versions()) - {"pulumi"}:
        assert find_spec(f"preview.plugins.{name.replace('-', '_')}_provider") is not None


def test_sources_of_providers_are_named_with_the_reason(tmp_path: Path) -> None:
    choices = {
        "python": Choice("python", None, "no pulumi on PATH"),
        "kubernetes": Choice("kubernetes", tmp_path, "installed in version 4.34.2"),
        "gcp": Choice("gcp", None, "a preview needs no account"),
    }
    assert sources(choices) == (
        "gcp: stand-in (a preview needs no account); kubernetes: official (installed in version 4.34.2)"
    )
