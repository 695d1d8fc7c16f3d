"""Tools as official release files in the cache: downloaded, verified, unpacked and test-run."""

import json
import shutil
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tools.bootstrap import exclusive
from tools.toolchain.download import DownloadError, Limits, fetch
from tools.toolchain.images import ACCEPTED, layers
from tools.toolchain.paths import cache_directory
from tools.toolchain.releases import ReleaseFile, pinned_file
from tools.toolchain.steps import Screen
from tools.toolchain.tools import Tool
from tools.toolchain.versions import runs_in_pinned_version

EXECUTABLE = 0o755


@dataclass(frozen=True)
class DownloadReceipt:
    """The facts about a download, which are written next to the tool."""

    tool: str
    version: str
    seconds: float
    bytes: int
    url: str
    sha256: str
    downloaded: str


def executable(tool: Tool, platform: str) -> Path | None:
    """Returns the path in the cache of the downloaded tool, which exists once it is downloaded.

    None if no checksum is pinned for this platform.
    """
    file = pinned_file(tool, platform)
    return _directory(tool, file) / tool.name if file else None


def _directory(tool: Tool, file: ReleaseFile) -> Path:
    return cache_directory() / "tools" / f"{tool.name}-{tool.version}-release-{file.sha256[:12]}"


def download_all(
    files: Sequence[tuple[Tool, ReleaseFile]], screen: Screen, limits: Limits
) -> tuple[dict[str, DownloadReceipt], dict[str, str]]:
    """Downloads the tools into the cache; returns receipts, and the reasons of failures, by tool."""
    receipts: dict[str, DownloadReceipt] = {}
    failures: dict[str, str] = {}
    with exclusive(cache_directory() / "tools" / "lock", "the tools"):
        for number, (tool, file) in enumerate(files, start=1):
            place = f"  {tool.name} {tool.version} ({number} of {len(files)})"
            try:
                receipt = _install(tool, file, screen, limits, place)
            except DownloadError as error:
                failures[tool.name] = str(error)
            else:
                receipts[tool.name] = receipt
                megabytes = receipt.bytes / 1e6
                screen.line(f"{place}: downloaded in {receipt.seconds:.0f} s, {megabytes:.0f} MB")
    return receipts, failures


def _install(tool: Tool, file: ReleaseFile, screen: Screen, limits: Limits, place: str) -> DownloadReceipt:
    """Puts the verified executable into the cache, unless another run has done so meanwhile."""
    directory = _directory(tool, file)
    receipt_file = directory / "download.json"
    if receipt_file.exists():
        return DownloadReceipt(**json.loads(receipt_file.read_text()))
    began = time.monotonic()
    sizes = [0]
    unfinished = directory.with_name(directory.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        path = unfinished / tool.name
        with screen.activity(lambda elapsed: f"{place}: {sizes[-1] / 1e6:.0f} MB after {elapsed:.0f} s"):
            _write(file, path, partial(fetch, limits=limits, progress=sizes.append))
        path.chmod(EXECUTABLE)
        if tool.version_args is not None and not runs_in_pinned_version(tool, path):
            raise DownloadError(f"{file.url}: does not run here as {tool.name} {tool.version}")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        seconds, size = round(time.monotonic() - began, 1), path.stat().st_size
        receipt = DownloadReceipt(tool.name, tool.version, seconds, size, file.url, file.sha256, now)
        (unfinished / receipt_file.name).write_text(json.dumps(asdict(receipt), indent=2) + "\n")
        unfinished.rename(directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return receipt


def _write(file: ReleaseFile, path: Path, verified: Callable[..., Path]) -> None:
    """Writes the executable of a release file."""
    if file.is_image:
        for layer in layers(file, partial(verified, accept=ACCEPTED)):
            if unpack(layer, file.member, path):
                return
        raise DownloadError(f"{file.url}: no layer contains {file.member}")
    archive = verified(file.url, file.sha256)
    if not file.member:
        archive.rename(path)
    elif not unpack(archive, file.member, path):
        raise DownloadError(f"{file.url}: the archive does not contain {file.member}")


def unpack(archive: Path, member: str, target: Path) -> bool:
    """Writes only this file of a tar archive, to `target`: no path in the archive is followed.

    Deletes the archive. Returns whether it has the file; raises DownloadError if it can't be read.
    """
    try:
        with tarfile.open(archive) as tar:
            entry = next((entry for entry in tar if entry.name.removeprefix("./") == member), None)
            source = tar.extractfile(entry) if entry is not None and entry.isfile() else None
            if source is None:
                return False
            with source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            return True
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DownloadError(f"{archive}: {error}") from error
    finally:
        archive.unlink()
