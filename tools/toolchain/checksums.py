"""Pins the checksums of the tools' release files, from the files that their projects publish."""

import json
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from tools.toolchain.plan import mirrored
from tools.toolchain.releases import TABLE, ReleaseFile, read, write
from tools.toolchain.tools import TOOLS, Tool

SECONDS = 15
BYTES_MAX = 4 << 20
SHA256_DIGITS = 64


class ChecksumError(Exception):
    """A checksum that can't be pinned."""


def pin_checksums(table: Path = TABLE, tools: Mapping[str, Tool] = TOOLS) -> int:
    """Writes the checksums of the pinned versions into the table; returns 1 if any is not available.

    A checksum of another version is removed. One of the same version is never replaced by another: that is
    reported, as the file or the table was changed.
    """
    header, _, _ = table.read_text().partition("[[file]]")
    today = datetime.now(UTC).date().isoformat()
    files: list[ReleaseFile] = []
    failed = False
    for row in read(table.read_text()):
        current = row if row.version == tools[row.tool].version else unpinned(row)
        try:
            pinned, outcome = _pin(current, tools[row.tool], today)
            print(f"{row.tool} {row.platform}: {outcome}")
        except ChecksumError as error:
            pinned, failed = current, True
            print(f"{row.tool} {row.platform}: {error}", file=sys.stderr)
        files.append(pinned)
    table.write_text(write(files, header))
    return 1 if failed else 0


def unpinned(row: ReleaseFile) -> ReleaseFile:
    """Returns the row without a checksum."""
    return replace(row, version="", sha256="", source="", date="")


def _pin(row: ReleaseFile, tool: Tool, today: str) -> tuple[ReleaseFile, str]:
    if not row.checksums:  # such as of an image, whose digest only a registry has
        return row, "unchanged" if row.sha256 else "not published"
    file = row.of(tool)
    name = urlsplit(file.url).path.rpartition("/")[2]
    sha256 = published_checksum(_read(file.checksums), name)
    if row.sha256 == sha256:
        return row, "unchanged"
    if row.sha256:
        raise ChecksumError(f"{file.checksums} has {sha256}, but {row.sha256} is pinned from {row.source}")
    pinned = replace(row, version=tool.version, sha256=sha256, source=file.checksums, date=today)
    return pinned, f"pinned {sha256}"


def published_checksum(text: str, name: str) -> str:
    """Returns the SHA-256 of a file in a list of checksums, in a file with a single one, or in GitHub's
    description of a release. Raises ChecksumError if it has none."""
    if text.startswith("{"):
        digests = {asset["name"]: asset["digest"] or "" for asset in json.loads(text)["assets"]}
        checksums = {asset: digest.removeprefix("sha256:") for asset, digest in digests.items()}
    else:
        lines = [line.split() for line in text.splitlines() if line.strip()]
        checksums = {line[1].lstrip("*") if line[1:] else name: line[0] for line in lines}
    sha256 = checksums.get(name, "").lower()
    if len(sha256) != SHA256_DIGITS or set(sha256) - set("0123456789abcdef"):
        raise ChecksumError(f"no SHA-256 of {name} is published")
    return sha256


def _read(url: str) -> str:
    try:
        with urllib.request.urlopen(mirrored(url), timeout=SECONDS) as response:
            return bytes(response.read(BYTES_MAX)).decode()
    except (OSError, HTTPException, UnicodeDecodeError) as error:
        raise ChecksumError(f"{url} can't be read: {error}") from error
