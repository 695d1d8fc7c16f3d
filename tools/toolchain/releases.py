"""Official release files of the tools, with the checksums of the pinned versions."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tools.toolchain.tools import Tool

TABLE = Path(__file__).with_name("releases.toml")


@dataclass(frozen=True)
class ReleaseFile:
    """A row of the table: a tool's release file for one platform.

    `url` and `checksums` may contain {version}, {number} for the version without its v, and {sha256}.
    `checksums` is the file with checksums that the project publishes, if any. `member` is the executable's
    path in a tar archive or container image; empty if the file is the executable. `sha256` belongs to
    `version` and was taken from `source` on `date`; all four are empty until the checksum is pinned.
    """

    tool: str
    platform: str
    url: str
    checksums: str = ""
    member: str = ""
    version: str = ""
    sha256: str = ""
    source: str = ""
    date: str = ""

    def of(self, tool: Tool) -> "ReleaseFile":
        """Returns the row with the addresses of the tool's pinned version."""
        number = tool.version.removeprefix("v")
        names = {"version": tool.version, "number": number, "sha256": self.sha256}
        return replace(
            self,
            url=self.url.format(**names),
            checksums=self.checksums.format(**names),
            member=self.member.format(**names),
        )

    @property
    def is_image(self) -> bool:
        """True for the index of a container image, whose digest is `sha256`."""
        return "/manifests/" in self.url

    @property
    def host(self) -> str:
        """The host that serves the file."""
        return urlsplit(self.url).netloc


def read(text: str) -> list[ReleaseFile]:
    """Parses the table."""
    return [ReleaseFile(**row) for row in tomllib.loads(text)["file"]]


def write(files: Sequence[ReleaseFile], header: str) -> str:
    """Returns the table as TOML, below its header; leaves out empty fields."""
    rows = []
    for file in files:
        values = ((field.name, getattr(file, field.name)) for field in fields(file))
        rows.append("[[file]]\n" + "".join(f'{key} = "{value}"\n' for key, value in values if value))
    return header + "\n".join(rows)


@cache
def _table() -> list[ReleaseFile]:
    return read(TABLE.read_text())


def pinned_file(tool: Tool, platform: str, files: Sequence[ReleaseFile] | None = None) -> ReleaseFile | None:
    """Returns the tool's release file with a checksum for the pinned version; None if the table has none."""
    for file in _table() if files is None else files:
        if (file.tool, file.platform, file.version) == (tool.name, platform, tool.version) and file.sha256:
            return file.of(tool)
    return None
