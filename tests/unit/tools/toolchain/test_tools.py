"""Tools that are trusted on PATH, the keys of cached builds, and the advice when a build fails."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tools.bootstrap import BootstrapError, environment_key, pinned_requirement
from tools.toolchain.build import advice_on_build, build_key
from tools.toolchain.ensure import on_path_in_right_version
from tools.toolchain.golang import parse_version
from tools.toolchain.tools import NODE_TOOLS, TOOLS, Tool, crds_for, tools_for
from tools.toolchain.versions import prints_version

ETCD, KUBECTL, PULUMI = TOOLS["etcd"], TOOLS["kubectl"], TOOLS["pulumi"]


@pytest.mark.parametrize(
    ("tool", "output", "trusted"),
    [
        pytest.param(ETCD, "etcd Version: 3.6.15\nGit SHA: x\nGo Version: go1.26.8", True, id="without-v"),
        pytest.param(ETCD, "etcd Version: 3.6.1", False, id="a-prefix-of-the-version"),
        pytest.param(ETCD, "etcd Version: 3.6.150", False, id="longer"),
        pytest.param(ETCD, "etcd Version: 13.6.15", False, id="ends-alike"),
        pytest.param(ETCD, "etcd Version: 3.6.15-rc.1", False, id="a-pre-release"),
        pytest.param(KUBECTL, "Client Version: v1.36.3\nKustomize Version: v5.8.1", True, id="with-v"),
        pytest.param(KUBECTL, "Client Version: v1.36.3-gke.100", False, id="a-vendor's-build"),
        pytest.param(PULUMI, "v3.259.0", True, id="nothing-but-the-version"),
        pytest.param(PULUMI, "", False, id="says-nothing"),
    ],
)
def test_version_printed_by_a_tool(tool: Tool, output: str, trusted: bool) -> None:
    assert prints_version(tool, output) is trusted


@pytest.mark.parametrize(
    ("name", "script", "trusted"),
    [
        pytest.param("etcd", "echo 'etcd Version: 3.6.15'", True, id="right-version"),
        pytest.param("etcd", "echo 'etcd Version: 3.4.30'", False, id="too-old"),
        pytest.param("etcd", "echo 'etcd Version: 3.6.15'; exit 1", False, id="fails"),
        pytest.param("ray-operator", "echo v1.6.2", False, id="cannot-state-its-version"),
    ],
)
def test_tool_on_path(
    name: str, script: str, trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = tmp_path / name
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert on_path_in_right_version(TOOLS[name]) == (executable if trusted else None)


def test_build_key_changes_with_every_input_and_with_nothing_else() -> None:
    keys = {
        build_key(ETCD, [b"mod", b"sum"], "Linux-x86_64"),
        build_key(ETCD, [b"mod2", b"sum"], "Linux-x86_64"),
        build_key(ETCD, [b"mod", b"sum2"], "Linux-x86_64"),
        build_key(ETCD, [b"mods", b"um"], "Linux-x86_64"),
        build_key(ETCD, [b"mod", b"sum"], "Linux-aarch64"),
        build_key(KUBECTL, [b"mod", b"sum"], "Linux-x86_64"),
        build_key(replace(ETCD, cgo=True), [b"mod", b"sum"], "Linux-x86_64"),
        build_key(replace(ETCD, tags=("providerless",)), [b"mod", b"sum"], "Linux-x86_64"),
        build_key(replace(ETCD, tags=("providerless", "dockerless")), [b"mod", b"sum"], "Linux-x86_64"),
    }
    assert len(keys) == 9
    assert build_key(ETCD, [b"mod", b"sum"], "Linux-x86_64") in keys


OTHER_TOOLS = {
    "helm",
    "jobset",
    "lws",
    "kueue-minimalkueue",
    "kueue-runner",
    "pod-requests",
    "pulumi-language-yaml",
    "python-sdk",
    "vale",
}
"""Tools of tests, benchmarks and lint."""


def test_an_engine_is_built_only_where_it_is_used() -> None:
    shared = set(tools_for("muster"))
    assert set(tools_for("kueue")) - shared == {"kueue"}
    assert set(tools_for("kai")) - shared == {
        "kai-scheduler",
        "kai-binder",
        "kai-podgrouper",
        "kai-queuecontroller",
    }
    assert set(TOOLS) == {*tools_for("kueue"), *tools_for("kai"), *NODE_TOOLS, *OTHER_TOOLS}


def test_kais_resources_are_served_only_with_kai() -> None:
    assert {source.wrapper for source in crds_for("kueue")} == {"kuberay", "kueue"}
    assert {source.wrapper for source in set(crds_for("kai")) - set(crds_for("kueue"))} == {"kai"}
    others = set(crds_for("muster", ["jobset", "lws"])) - set(crds_for("muster"))
    assert {source.wrapper for source in others} == {"jobset", "lws"}


@pytest.mark.parametrize(
    ("output", "word"),
    [
        ("write /tmp/x: no space left on device", "disk"),
        ("go: go.mod requires go >= 1.26.0 (running go 1.22.1)", "newer Go"),
        ("dial tcp 10.0.0.1:443: connect: connection refused", "proxy"),
        ("reading https://proxy/x: 403 Forbidden", "proxy"),
        ("verifying x: checksum mismatch", "modcache"),
        ("compile: signal: killed", "memory"),
        ("some compiler error", "read the log"),
    ],
)
def test_advice_on_a_failed_build(output: str, word: str) -> None:
    assert word in advice_on_build(output)


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("go version go1.26.6 linux/amd64", (1, 26, 6)),
        ("go version go1.26 linux/amd64", (1, 26)),
        ("go version devel +abc linux/amd64", None),
        ("", None),
    ],
)
def test_go_version(output: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(output) == version


LOCK = """\
other==1.0 \\
    --hash=sha256:aa
    # via uv-thing
uv==0.13.8 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
    # via muster (pyproject.toml)
uvloop==1.0 \\
    --hash=sha256:dd
"""


def test_pinned_requirement_is_the_one_package_with_all_its_hashes() -> None:
    assert pinned_requirement(LOCK, "uv") == "uv==0.13.8 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"


def test_pinned_requirement_refuses_a_lock_without_the_package() -> None:
    with pytest.raises(BootstrapError, match="make lock"):
        pinned_requirement("other==1.0\n", "uv")


def test_environment_key_depends_on_the_lock_and_on_python() -> None:
    keys = {environment_key(lock, python) for lock in ("a", "b") for python in ("3.11.7", "3.12.1")}
    assert len(keys) == 4
