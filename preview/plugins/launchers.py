"""Installs the chosen plugins where the engine searches: next to its binary, and in its plugin cache."""

import os
import shutil
from collections.abc import Mapping, Set
from pathlib import Path
from shlex import quote

from preview.plugins import launch
from preview.plugins.choice import LANGUAGE_HOST, Choice


def install_engine(folder: Path, binary: Path, python: str, language_host: Choice) -> Path:
    """Returns the pulumi binary to run, with a language host next to it.

    The engine trusts a language host only in its own folder, with symlinks resolved. So the official binary
    is used in place, and ours is hard-linked (or copied, from another disk) next to the launcher.
    """
    if language_host.official is not None:
        return language_host.official.with_name("pulumi")
    folder.mkdir(parents=True, exist_ok=True)
    engine = folder / "pulumi"
    install_beside(folder, binary, engine.name)
    _write_launcher(folder / LANGUAGE_HOST, python, "preview.plugins.language_host")
    return engine


def install_beside(folder: Path, binary: Path, name: str) -> None:
    """Hard-links an executable into the engine's folder, or copies it from another disk."""
    path = folder / name
    if path.exists() and _same(path, binary):
        return
    path.unlink(missing_ok=True)
    try:
        os.link(binary, path)
    except OSError:
        shutil.copy2(binary, path)


def install_providers(
    home: Path, python: str, versions: Mapping[str, str], choices: Mapping[str, Choice]
) -> None:
    """Fills the plugin cache of a PULUMI_HOME with official plugins or launchers of stand-ins.

    The engine skips plugin folders that are symbolic links (tryPlugin in Pulumi's
    sdk/go/common/workspace/plugins.go). So each is a real folder with links to the plugin's files.
    """
    for name, choice in choices.items():
        if name not in versions:
            continue
        folder = home / "plugins" / f"resource-{name}-v{versions[name]}"
        if folder.is_symlink():
            folder.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        if choice.official is not None:
            _link_files(choice.official, folder)
        else:
            executable = f"pulumi-resource-{name}"
            _remove_all_but(folder, {executable})
            module = f"preview.plugins.{name.replace('-', '_')}_provider"
            _write_launcher(folder / executable, python, module)


def _link_files(source: Path, folder: Path) -> None:
    """Makes `folder` contain exactly one link to each entry of `source`."""
    entries = {entry.name: entry.resolve() for entry in source.iterdir()}
    _remove_all_but(folder, {name for name, entry in entries.items() if _leads_to(folder / name, entry)})
    for name, entry in entries.items():
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(entry)


def _leads_to(link: Path, target: Path) -> bool:
    return link.is_symlink() and link.readlink() == target


def _remove_all_but(folder: Path, names: Set[str]) -> None:
    """Removes all other files, links and folders, such as the files of a previous plugin."""
    for entry in folder.iterdir():
        if entry.name in names:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _same(path: Path, other: Path) -> bool:
    a, b = path.stat(), other.stat()
    return a.st_size == b.st_size and a.st_mtime_ns == b.st_mtime_ns


def _write_launcher(path: Path, python: str, plugin: str) -> None:
    """Writes a script that execs launch.py, so that it keeps the pid that the engine knows.

    -I and -S: without the packages of the environment, Python starts in half of the time.
    """
    script = f'#!/bin/sh\nexec {quote(python)} -I -S {quote(launch.__file__)} {plugin} "$@"\n'
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(script)
    unfinished.chmod(0o755)
    unfinished.replace(path)
