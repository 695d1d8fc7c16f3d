"""Packages are downloaded by an apt that has only sources, keys and network settings of the machine."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.images import apt
from sandbox.images.apt import configuration
from sandbox.images.debian import package_line, unpack
from tools.toolchain.steps import StepError

MACHINE = """APT "";
APT::Architecture "amd64";
APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb || true";
APT::Install-Recommends "1";
Acquire "";
Acquire::http::Proxy "http://proxy:3128";
Dir::Cache "var/cache/apt";
DPkg::Post-Invoke:: "rm -f /var/cache/apt/*.bin || true";
"""


def test_the_machines_proxy_applies_and_its_hooks_do_not(tmp_path: Path) -> None:
    lines = configuration(MACHINE, tmp_path).splitlines()
    assert 'Acquire::http::Proxy "http://proxy:3128";' in lines
    assert 'APT::Architecture "amd64";' in lines
    assert not [line for line in lines if "Post-Invoke" in line]
    assert [line for line in lines if line.startswith("Dir::Cache ")] == [f'Dir::Cache "{tmp_path}";']
    assert 'APT::Install-Recommends "false";' in lines


@pytest.mark.parametrize(
    ("file_name", "line"),
    [
        ("libacl1_2.3.1-3_amd64.deb", "libacl1 2.3.1-3 amd64"),
        ("zlib1g_1%3a1.2.13.dfsg-1_amd64.deb", "zlib1g 1:1.2.13.dfsg-1 amd64"),
        ("ca-certificates_20250419~deb12u2_all.deb", "ca-certificates 20250419~deb12u2 all"),
        ("procps_2%3a4.0.2-3_arm64.deb", "procps 2:4.0.2-3 arm64"),
    ],
)
def test_a_package_is_read_from_its_files_name(file_name: str, line: str) -> None:
    assert package_line(file_name) == line


def test_a_machine_without_apt_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepError, match="apt-get is not installed") as refused:
        apt.download(["nftables"], tmp_path / "apt")
    assert "Debian" in refused.value.try_this


def test_an_unreachable_archive_is_told_with_apts_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "apt-config", "exit 0")
    program(tmp_path / "dpkg-deb", "exit 0")
    program(tmp_path / "apt-get", 'echo "Reading package lists..."; echo "E: Unable to locate $2"; exit 100')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(StepError, match=r"can't download nftables:\nE: Unable to locate") as refused:
        apt.download(["nftables"], tmp_path / "apt")
    assert "Reading" not in str(refused.value)
    assert "apt-get update" in refused.value.try_this


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.skipif(
    shutil.which("dpkg-deb") is None, reason="no dpkg-deb: packages are unpacked on Debian only"
)
def test_files_of_lib_are_unpacked_below_usr(tmp_path: Path) -> None:
    packages = [
        package(tmp_path / "one", ["lib/a.so", "usr/lib/b.so"]),
        package(tmp_path / "two", ["lib/c.so", "bin/d"]),
    ]
    unpack(packages, tmp_path / "root")
    root = tmp_path / "root"
    assert {name: str((root / name).readlink()) for name in ("bin", "lib")} == {
        "bin": "usr/bin",
        "lib": "usr/lib",
    }
    assert {path.name for path in (root / "usr/lib").iterdir()} == {"a.so", "b.so", "c.so"}
    assert (root / "usr/bin/d").exists()
    assert (root / "etc/ld.so.cache").exists()


def package(folder: Path, files: Sequence[str]) -> Path:
    """Returns a .deb file with empty files."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "DEBIAN").mkdir()
    control = (
        f"Package: {folder.name}\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: test\n"
    )
    (folder / "DEBIAN" / "control").write_text(control)
    path = folder.with_suffix(".deb")
    subprocess.run(["dpkg-deb", "--build", str(folder), str(path)], check=True, capture_output=True)
    return path
