"""Unpacks Debian packages into folders of the cache, with nothing installed on the machine."""

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from sandbox.images.apt import download
from sandbox.images.image import key_of, remove_unfinished
from tools.bootstrap import exclusive
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import StepError

MERGED = ("bin", "sbin", "lib", "lib64")
_RELEASE = Path("/etc/os-release")
_FORMAT = "2"
"""Increment if the same packages result in a different folder."""


def extracted(packages: Sequence[str]) -> Path:
    """Returns a folder with the packages and their dependencies, unpacked once for each release of Debian.

    No maintainer script has run, but the cache of shared libraries exists. Raises StepError if apt is
    missing, or a package can't be downloaded.
    """
    folder = _folder(packages)
    with exclusive(folder.parent / "lock", "Debian packages"):
        if not folder.exists():
            remove_unfinished(folder.parent)
            _extract(packages, folder)
    return folder / "root"


def is_extracted(packages: Sequence[str]) -> bool:
    """Returns whether the packages are in the cache."""
    return _folder(packages).exists()


def versions(root: Path) -> str:
    """Returns the packages of an extracted folder, each as a line with name, version and architecture."""
    return (root.parent / "packages.txt").read_text()


def package_line(file_name: str) -> str:
    """Returns name, version and architecture of a package from the name of its file, in which apt escapes the
    colon of the version's epoch."""
    name, version, architecture = file_name.removesuffix(".deb").split("_")
    return f"{name} {version.replace('%3a', ':')} {architecture}"


def _folder(packages: Sequence[str]) -> Path:
    release = _RELEASE.read_text() if _RELEASE.exists() else ""
    key = key_of([_FORMAT, release, platform.machine(), *sorted(packages)])
    return cache_directory() / "debian" / f"{packages[0]}-{key}"


def _extract(packages: Sequence[str], folder: Path) -> None:
    with TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as temporary:
        files = download(packages, Path(temporary) / "apt")
        content = Path(temporary) / "content"
        unpack(files, content / "root")
        (content / "packages.txt").write_text("".join(f"{package_line(f.name)}\n" for f in files))
        content.rename(folder)


def unpack(files: Sequence[Path], root: Path) -> None:
    """Unpacks .deb files into a new root, whose /bin, /sbin and /lib are links to /usr as in Debian 12."""
    (root / "usr").mkdir(parents=True)
    for name in MERGED:
        (root / "usr" / name).mkdir()
        (root / name).symlink_to(f"usr/{name}")
    for file in files:
        _unpack_package(file, root)
    (root / "etc").mkdir(exist_ok=True)
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin") or str(root / "sbin" / "ldconfig")
    _run(ldconfig, "-r", str(root))


def _unpack_package(file: Path, root: Path) -> None:
    # dpkg-deb --extract would replace the links with the folders of packages that still have files in /lib
    tar = ["tar", "--extract", "--keep-directory-symlink", "--no-same-owner", "--preserve-permissions"]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE) as content:
        _run(*tar, f"--directory={root}", stdin=content.stdout)
    if content.returncode != 0:
        raise StepError(f"{file.name} can't be unpacked")


def _run(*argv: str, stdin: IO[bytes] | None = None) -> None:
    result = subprocess.run(argv, stdin=stdin, capture_output=True)
    if result.returncode != 0:
        raise StepError(f"{' '.join(argv)}: {result.stderr.decode(errors='replace').strip()}")
