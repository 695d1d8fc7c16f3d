"""Tools from a release host, from the choice to the executable in the cache; else they are built."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.tools.toolchain.release_host import Answer, ReleaseHost, release_host
from tools.platforms import this_platform
from tools.toolchain import build, releases
from tools.toolchain.downloaded import unpack
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.releases import ReleaseFile
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS, Tool

ETCD = TOOLS["etcd"]
SCRIPT = f"#!/bin/sh\necho etcd Version: {ETCD.version}\n".encode()


def archive_of(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.size, entry.linkname = kind, len(content), "/etc/passwd"
        tar.addfile(entry, io.BytesIO(content))
    return data.getvalue()


ARCHIVE = archive_of("etcd-v1/etcd", SCRIPT)


class Machine:
    """A machine without tools: its own cache, a release host, and builds that are only noted."""

    def __init__(self, host: ReleaseHost, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = host
        self.builds: list[str] = []
        self.screen = io.StringIO()
        self._patch = monkeypatch

        def build_all(tools: Sequence[Tool], _screen: Screen) -> dict[str, build.Receipt]:
            self.builds += [tool.name for tool in tools]
            return {}

        monkeypatch.setattr(build, "build_all", build_all)

    def pins(self, file: str, content: bytes, member: str = "", version: str = ETCD.version) -> None:
        """Pins the checksum of this content for a file of the host."""
        row = ReleaseFile("etcd", this_platform(), f"https://release.example/{file}", "", member, version)
        pinned = replace(row, sha256=hashlib.sha256(content).hexdigest())
        self._patch.setattr(releases, "_table", lambda: [pinned])

    def ensure(self) -> str:
        """Returns the source of the tool."""
        return ensure_tools(["etcd"], Screen(self.screen))["etcd"].source


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("MUSTER_TOOLS", raising=False)
    with release_host() as host:
        files = {"etcd": SCRIPT, "etcd.tar.gz": ARCHIVE, "other": b"#!/bin/sh\necho etcd Version: 3.4\n"}
        host.files.update({f"/release.example/{name}": content for name, content in files.items()})
        monkeypatch.setenv("MUSTER_TOOLS_MIRROR", host.address)
        yield Machine(host, monkeypatch)


@pytest.mark.parametrize(
    ("file", "content", "member"),
    [("etcd", SCRIPT, ""), ("etcd.tar.gz", ARCHIVE, "etcd-v1/etcd")],
    ids=["executable", "archive"],
)
def test_a_pinned_file_is_downloaded_once(machine: Machine, file: str, content: bytes, member: str) -> None:
    machine.pins(file, content, member)
    assert machine.ensure() == "downloaded"
    requests = len(machine.host.requests)
    assert machine.ensure() == "cache"
    assert machine.builds == []
    assert len(machine.host.requests) == requests
    lines = machine.screen.getvalue().splitlines()
    assert lines[0] == "  downloading official release files of etcd"
    assert lines[1].startswith("  etcd v3.6.15 (1 of 1): downloaded in ")


@pytest.mark.parametrize(
    ("file", "content", "member", "reason"),
    [
        pytest.param("etcd", b"another", "", "expected " + hashlib.sha256(b"another").hexdigest(), id="lies"),
        pytest.param("absent", SCRIPT, "", "HTTP 404", id="absent"),
        pytest.param("other", b"#!/bin/sh\necho etcd Version: 3.4\n", "", "does not run here", id="version"),
        pytest.param(
            "etcd.tar.gz", ARCHIVE, "etcd-v2/etcd", "the archive does not contain etcd-v2/etcd", id="member"
        ),
    ],
)
def test_a_file_that_is_not_usable(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, file: str, content: bytes, member: str, reason: str
) -> None:
    machine.pins(file, content, member)
    assert machine.ensure() == "cache"  # as another run's build, as nothing is built here
    assert machine.builds == ["etcd"]
    assert reason in machine.screen.getvalue()
    monkeypatch.setenv("MUSTER_TOOLS", "download")
    with pytest.raises(StepError, match=f"^etcd: http.*{reason}") as error:
        machine.ensure()
    assert "MUSTER_TOOLS_MIRROR" in error.value.try_this
    assert machine.builds == ["etcd"]


def test_a_truncated_file_is_built(machine: Machine) -> None:
    machine.pins("etcd", SCRIPT)
    machine.host.answers["/release.example/etcd"] = [Answer(bytes_sent=0)]
    machine.ensure()
    assert machine.builds == ["etcd"]
    assert f"0 of {len(SCRIPT)} bytes, 3 times" in machine.screen.getvalue()


def test_a_refused_host_is_not_asked_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.pins("etcd", SCRIPT)
    machine.host.answers["/release.example/etcd"] = [Answer(403)]
    machine.ensure()
    assert machine.builds == ["etcd"]
    assert len(machine.host.requests) == 1


@pytest.mark.parametrize(
    ("way", "version"), [("build", ETCD.version), ("", "v3.6.14")], ids=["on-request", "checksum-of-another"]
)
def test_nothing_is_asked_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, way: str, version: str
) -> None:
    machine.pins("etcd", SCRIPT, version=version)
    monkeypatch.setenv("MUSTER_TOOLS", way)
    machine.ensure()
    assert machine.builds == ["etcd"]
    assert machine.host.requests == []


def test_a_downloaded_tool_is_not_used_if_builds_are_required(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.pins("etcd", SCRIPT)
    assert machine.ensure() == "downloaded"
    monkeypatch.setenv("MUSTER_TOOLS", "build")
    machine.ensure()
    assert machine.builds == ["etcd"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../etcd", tarfile.REGTYPE), ("etcd-v1/etcd", tarfile.SYMTYPE)],
    ids=["another-path", "link"],
)
def test_an_archive_writes_nothing_else(tmp_path: Path, name: str, kind: bytes) -> None:
    (tmp_path / "folder").mkdir()
    archive = tmp_path / "folder" / "archive"
    archive.write_bytes(archive_of(name, b"" if kind == tarfile.SYMTYPE else SCRIPT, kind))
    assert not unpack(archive, "etcd-v1/etcd", tmp_path / "folder" / "etcd")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def descriptor(content: bytes, **platform: str) -> dict[str, object]:
    return {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "platform": platform}


class Image:
    """A container image on the release host, whose last layer but one has the executable."""

    def __init__(self, machine: Machine, **platforms: str) -> None:
        system, _, architecture = this_platform().partition("-")
        here = {"os": system, "architecture": architecture, **platforms}
        contents = [archive_of("etc/passwd", b""), archive_of("./bin/etcd", SCRIPT), archive_of("bin/x", b"")]
        self.manifest = json.dumps({"layers": [descriptor(layer) for layer in contents]}).encode()
        other = descriptor(b"another", os="linux", architecture="s390x")
        self.index = json.dumps({"manifests": [other, descriptor(self.manifest, **here)]}).encode()
        self._machine = machine
        self.paths = [self._add(b, "manifests") for b in (self.index, self.manifest)]
        self.paths += [self._add(layer, "blobs") for layer in contents]

    def _add(self, content: bytes, kind: str) -> str:
        path = f"/release.example/v2/etcd/{kind}/sha256:{hashlib.sha256(content).hexdigest()}"
        self._machine.host.files[path] = content
        return path


def test_an_executable_is_taken_from_a_layer_of_an_image(machine: Machine) -> None:
    image = Image(machine)
    machine.pins("v2/etcd/manifests/sha256:{sha256}", image.index, "bin/etcd")
    assert machine.ensure() == "downloaded"
    index, manifest, _, executable, last = image.paths
    assert [path for path, _ in machine.host.requests] == [index, index, manifest, last, executable]
    assert machine.ensure() == "cache"


def test_an_image_without_this_platform_is_not_used(machine: Machine) -> None:
    image = Image(machine, architecture="mips")
    machine.pins("v2/etcd/manifests/sha256:{sha256}", image.index, "bin/etcd")
    machine.ensure()
    assert machine.builds == ["etcd"]
    assert f"no image for {this_platform()}" in machine.screen.getvalue()


@pytest.mark.parametrize("changed", range(5), ids=["index", "manifest", "layer-1", "layer-2", "layer-3"])
def test_every_part_of_an_image_is_verified(machine: Machine, changed: int) -> None:
    image = Image(machine)
    machine.pins("v2/etcd/manifests/sha256:{sha256}", image.index, "bin/etcd")
    machine.host.files[image.paths[changed]] = b"{}"
    used = changed != 2  # the first layer is not needed
    assert machine.ensure() == ("cache" if used else "downloaded")
    assert machine.builds == (["etcd"] if used else [])
    assert ("the file was deleted" in machine.screen.getvalue()) is used


def test_an_image_without_the_executable_is_not_used(machine: Machine) -> None:
    image = Image(machine)
    machine.pins("v2/etcd/manifests/sha256:{sha256}", image.index, "bin/etcdctl")
    machine.ensure()
    assert machine.builds == ["etcd"]
    assert "no layer contains bin/etcdctl" in machine.screen.getvalue()
