"""Pinning checksums from the files that projects publish, on a release host of the test."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.tools.toolchain.release_host import ReleaseHost, release_host
from tools.toolchain.checksums import ChecksumError, pin_checksums, published_checksum
from tools.toolchain.releases import ReleaseFile, read, write
from tools.toolchain.tools import TOOLS

A, B = "a" * 64, "B" * 64
ETCD = TOOLS["etcd"]
HEADER = "# A table.\n\n"
ROW = ReleaseFile(
    "etcd", "linux-amd64", "https://a.example/{version}/etcd-{number}", "https://a.example/sums"
)
PINNED = replace(ROW, version=ETCD.version, sha256=A, source="a list", date="2026-01-02")
OLD = replace(PINNED, version="v3.6.14")


def github(**digests: str | None) -> str:
    """Returns GitHub's description of a release with these files."""
    return json.dumps({"assets": [{"name": name, "digest": digest} for name, digest in digests.items()]})


@pytest.mark.parametrize(
    ("text", "checksum"),
    [
        pytest.param(A, A, id="alone"),
        pytest.param(f"{A}\n", A, id="alone-on-a-line"),
        pytest.param(f"{A}  other\n{B}  etcd\n", B.lower(), id="a-list"),
        pytest.param(f"{A} *etcd\n", A, id="a-list-of-binaries"),
        pytest.param(
            github(x=None, etcd=f"sha256:{A}"),
            A,
            id="github",
        ),
    ],
)
def test_published_checksum(text: str, checksum: str) -> None:
    assert published_checksum(text, "etcd") == checksum


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{A}  other\n",
        "<html>",
        "a" * 40,
        "z" * 64,
        github(etcd=None),
    ],
    ids=["nothing", "another-file", "a-page", "sha1", "no-digits", "github-without"],
)
def test_no_published_checksum(text: str) -> None:
    with pytest.raises(ChecksumError, match="no SHA-256 of etcd"):
        published_checksum(text, "etcd")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReleaseHost]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with release_host() as running:
        monkeypatch.setenv("MUSTER_TOOLS_MIRROR", running.address)
        yield running


@pytest.mark.parametrize(
    ("before", "published", "after", "code", "outcome"),
    [
        pytest.param(ROW, A, A, 0, f"pinned {A}", id="new"),
        pytest.param(PINNED, A, A, 0, "unchanged", id="unchanged"),
        pytest.param(OLD, B, B.lower(), 0, f"pinned {B.lower()}", id="upgraded"),
        pytest.param(PINNED, B, A, 1, f"has {B.lower()}, but {A} is pinned from a list", id="changed"),
        pytest.param(PINNED, None, A, 1, "https://a.example/sums can't be read: HTTP Error 404", id="absent"),
        pytest.param(OLD, None, "", 1, "can't be read", id="absent-and-old"),
    ],
)
def test_pin(
    host: ReleaseHost,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: ReleaseFile,
    published: str | None,
    after: str,
    code: int,
    outcome: str,
) -> None:
    if published is not None:
        host.files["/a.example/sums"] = f"{published}  etcd-{ETCD.version[1:]}\n".encode()
    table = tmp_path / "table.toml"
    table.write_text(write([before], HEADER))
    assert pin_checksums(table) == code
    [row] = read(table.read_text())
    assert row.sha256 == after
    assert row.version == (ETCD.version if after else "")
    assert table.read_text().startswith(HEADER)
    captured = capsys.readouterr()
    assert outcome in captured.out + captured.err
