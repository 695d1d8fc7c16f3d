"""Archives of images are valid OCI layouts, and the same inputs give the same bytes."""

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.images.layers import write_layer
from sandbox.images.oci import Settings, write_archive

SETTINGS = Settings(["/manager"], ["--fast"], "65532:65532", "/app", {"LANG": "C.UTF-8"})
NAMES = ("docker.io/a/b:1", "quay.io/a/b:1")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def make_tree(root: Path, order: int = 1) -> Path:
    for name in ("b", "a", "home/ray", "usr/bin")[::order]:
        (root / name).mkdir(parents=True)
    (root / "usr/bin/tool").write_text("#!/bin/sh\n")
    (root / "usr/bin/tool").chmod(0o4755)
    (root / "home/ray/notes").write_text("x")
    (root / "home/rays").write_text("y")
    (root / "bin").symlink_to("usr/bin")
    return root


def members(archive: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(archive) as file:
        return {info.name: info for info in file}


def contents(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as file:
        return {info.name: (file.extractfile(info) or pytest.fail(info.name)).read() for info in file}


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """Returns the blob of a descriptor, whose digest and size it checks."""
    content = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == descriptor["digest"]
    assert len(content) == descriptor["size"]
    return content


def test_every_descriptor_names_a_blob_of_the_archive(tree: Path, tmp_path: Path) -> None:
    lower, upper = write_layer(tmp_path / "1", tree), write_layer(tmp_path / "2", tree / "usr")
    write_archive(tmp_path / "image.tar", NAMES, [lower, upper], SETTINGS)
    files = contents(tmp_path / "image.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(files["index.json"])
    assert [m["annotations"]["io.containerd.image.name"] for m in index["manifests"]] == list(NAMES)
    assert len({entry["digest"] for entry in index["manifests"]}) == 1
    manifest = json.loads(blob(files, index["manifests"][0]))
    config = json.loads(blob(files, manifest["config"]))
    layers = [blob(files, layer) for layer in manifest["layers"]]
    assert [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers] == config["rootfs"]["diff_ids"]
    assert config["config"] == {
        "Entrypoint": ["/manager"],
        "Cmd": ["--fast"],
        "User": "65532:65532",
        "WorkingDir": "/app",
        "Env": ["LANG=C.UTF-8"],
    }
    assert len(files) == 2 + 2 + 2  # layout and index, manifest and configuration, layers


def test_the_same_content_gives_the_same_archive(tmp_path: Path) -> None:
    for name, order, at in (("x", 1, 1.0), ("y", -1, 2.0)):
        tree = make_tree(tmp_path / name / "tree", order)
        for path in tree.rglob("*"):
            os.utime(path, (at, at), follow_symlinks=False)
        layer = write_layer(tmp_path / name / "layer", tree)
        write_archive(tmp_path / name / "image.tar", NAMES, [layer], SETTINGS)
    first, second = ((tmp_path / name / "image.tar").read_bytes() for name in ("x", "y"))
    assert first == second


def test_owners_bits_and_times_do_not_depend_on_the_machine(tree: Path, tmp_path: Path) -> None:
    write_layer(tmp_path / "layer", tree, {"home/ray": 1000})
    entries = members(tmp_path / "layer")
    owners = {name for name, info in entries.items() if (info.uid, info.gid) == (1000, 1000)}
    assert owners == {"home/ray", "home/ray/notes"}
    assert {(info.uid, info.gid) for name, info in entries.items() if name not in owners} == {(0, 0)}
    assert {(info.mtime, info.uname, info.gname) for info in entries.values()} == {(0, "", "")}
    assert entries["usr/bin/tool"].mode == 0o755  # without its set-user-id bit
    assert (entries["bin"].issym(), entries["bin"].linkname) == (True, "usr/bin")
    assert list(entries) == sorted(entries)


def test_a_hard_link_is_not_stored_twice(tree: Path, tmp_path: Path) -> None:
    os.link(tree / "home/ray/notes", tree / "home/ray/same")
    write_layer(tmp_path / "layer", tree)
    same = members(tmp_path / "layer")["home/ray/same"]
    assert (same.islnk(), same.linkname) == (True, "home/ray/notes")
