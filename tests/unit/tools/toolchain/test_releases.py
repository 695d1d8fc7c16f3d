"""The table of release files: complete rows, current versions, https only."""

import re

import pytest

from tools.toolchain.releases import TABLE, ReleaseFile, pinned_file, read, write
from tools.toolchain.tools import TOOLS

ROWS = read(TABLE.read_text())
PINNED = [row for row in ROWS if row.sha256]


def name_of(row: ReleaseFile) -> str:
    return f"{row.tool}-{row.platform}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{name_of(row)}-{row.host}")
def test_row(row: ReleaseFile) -> None:
    file = row.of(TOOLS[row.tool])
    assert row.platform in ("linux-amd64", "linux-arm64")
    assert file.url.startswith("https://")
    pinned_by = row.sha256 if row.is_image else TOOLS[row.tool].version[1:]
    assert pinned_by in file.url
    assert (file.url.endswith(".tar.gz") or row.is_image) == bool(file.member)
    assert len({bool(row.version), bool(row.sha256), bool(row.source), bool(row.date)}) == 1


@pytest.mark.parametrize("row", PINNED, ids=name_of)
def test_a_checksum_belongs_to_the_pinned_version(row: ReleaseFile) -> None:
    assert re.fullmatch("[0-9a-f]{64}", row.sha256)
    assert row.version == TOOLS[row.tool].version, "run: python3 tools/bootstrap.py tools checksums"


def test_files_and_checksums_are_unique() -> None:
    assert len({(row.tool, row.platform, row.url) for row in ROWS}) == len(ROWS)
    digests = {(row.sha256, row.platform if row.is_image else "") for row in PINNED}
    assert len(digests) == len(PINNED)


def test_a_file_without_a_checksum_is_not_pinned() -> None:
    row = ReleaseFile("etcd", "linux-amd64", "https://a.example/{version}")
    pinned = ReleaseFile("etcd", "linux-arm64", "https://a.example/{version}", sha256="aa", version="v3.6.15")
    etcd = TOOLS["etcd"]
    assert pinned_file(etcd, "linux-amd64", [row, pinned]) is None
    file = pinned_file(etcd, "linux-arm64", [row, pinned])
    assert file is not None
    assert file.url == "https://a.example/v3.6.15"
    assert pinned_file(etcd, "darwin-arm64", [row, pinned]) is None


def test_the_table_is_written_as_it_is_read() -> None:
    header, _, _ = TABLE.read_text().partition("[[file]]")
    assert write(ROWS, header) == TABLE.read_text()
