"""Chooses the official plugin or the stand-in for each plugin, depending on what is installed."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

LANGUAGE_HOST = "pulumi-language-python"
# Plugin -> the Python SDK whose version it must have.
_PROVIDERS = {
    "kubernetes": "pulumi-kubernetes",
    "gcp": "pulumi-gcp",
    "docker-build": "pulumi-docker-build",
}


@dataclass(frozen=True)
class Installed:
    """The user's installation: Pulumi's CLI on PATH, and the plugins in its home.

    cli_version: without the leading v. plugins: folders by `<name>-v<version>` as in `~/.pulumi/plugins`,
    without the leading `resource-`.
    """

    cli: Path | None = None
    cli_version: str = ""
    language_host: Path | None = None
    plugins: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """The choice for `plugin` and its reason. `official` is a file or folder; None means the stand-in."""

    plugin: str
    official: Path | None
    why: str


def wanted_versions() -> dict[str, str]:
    """Returns the versions of the engine and the providers that the installed SDKs require."""
    providers = {name: version(package) for name, package in _PROVIDERS.items()}
    return {"pulumi": version("pulumi"), **providers}


def users_home() -> Path:
    """Returns the folder in which the user's Pulumi keeps its plugins."""
    return Path(os.environ.get("PULUMI_HOME", Path.home() / ".pulumi"))


def find_installed(home: Path) -> Installed:
    """Searches PATH and `home` (see `users_home`). An executable that fails counts as not installed."""
    folders = home.glob("plugins/resource-*")
    plugins = {folder.name.removeprefix("resource-"): folder for folder in folders if _is_complete(folder)}
    on_path = shutil.which("pulumi")
    if on_path is None:
        return Installed(plugins=plugins)
    cli = Path(on_path).resolve()
    try:
        asked = subprocess.run(
            [cli, "version"],
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return Installed(plugins=plugins)
    beside = cli.with_name(LANGUAGE_HOST)
    return Installed(cli, asked.stdout.strip().lstrip("v"), beside if beside.exists() else None, plugins)


def _is_complete(folder: Path) -> bool:
    """Returns whether the plugin in `resource-<name>-v<version>` is fully installed.

    During an installation, and after an interrupted one, there is a file `<folder>.partial` next to it
    (Pulumi's sdk/go/common/workspace/plugins.go, PartialFilePath).
    """
    executable = folder / f"pulumi-{folder.name.rpartition('-v')[0]}"
    unfinished = folder.with_name(f"{folder.name}.partial")
    return os.access(executable, os.X_OK) and not unfinished.exists()


def choose_offline() -> dict[str, Choice]:
    """Chooses plugins for previews without an account: installed ones, but stand-ins for GCP and Docker.

    The official gcp plugin requires credentials even for a preview, and only the stand-in checks bodies
    against GKE's schema and knows its replacement rules.
    """
    return choose_installed() | stand_ins(("gcp", "docker-build"), "a preview needs no account")


def sources(choices: Mapping[str, Choice]) -> str:
    """Describes for each provider whether its plugin is official or a stand-in, and why."""
    providers = (choices[name] for name in sorted(choices) if name != "python")
    return "; ".join(f"{c.plugin}: {'official' if c.official else 'stand-in'} ({c.why})" for c in providers)


def choose_installed() -> dict[str, Choice]:
    """Chooses every plugin that is installed in the version of its SDK."""
    return choose_plugins(wanted_versions(), find_installed(users_home()))


def stand_ins(names: Iterable[str], why: str) -> dict[str, Choice]:
    """Chooses the stand-in for each of these plugins."""
    return {name: Choice(name, None, why) for name in names}


def choose_plugins(required: Mapping[str, str], installed: Installed) -> dict[str, Choice]:
    """Returns a choice per plugin: `python` (the language host), `kubernetes`, `gcp`, `docker-build`.

    required: versions by the same names, with `pulumi` for the language host. Only exact matches are used, as
    other versions may not suit the SDK and the tests.
    """
    return {
        "python": _language_host(required["pulumi"], installed),
        **{name: _provider(name, required[name], installed) for name in required if name != "pulumi"},
    }


def _language_host(required: str, installed: Installed) -> Choice:
    if installed.cli is None:
        return Choice("python", None, "no pulumi on PATH")
    if installed.cli_version != required:
        why = f"pulumi on PATH is {installed.cli_version or 'of unknown version'}, wanted is {required}"
        return Choice("python", None, why)
    if installed.language_host is None:
        return Choice("python", None, f"no {LANGUAGE_HOST} next to {installed.cli}")
    return Choice("python", installed.language_host, f"next to pulumi {required} on PATH")


def _provider(name: str, required: str, installed: Installed) -> Choice:
    folder = installed.plugins.get(f"{name}-v{required}")
    if folder is not None:
        return Choice(name, folder, f"installed in version {required}")
    others = sorted(key for key in installed.plugins if key.rpartition("-v")[0] == name)
    return Choice(name, None, f"wanted is {required}, installed is {', '.join(others) or 'none'}")
