"""Each platform: its name, and whether `make up` runs there."""

import platform
import sys

import pytest

from tools import bootstrap
from tools.platforms import platform_name, support


@pytest.mark.parametrize(
    ("system", "machine", "name", "sandbox", "words"),
    [
        ("Linux", "x86_64", "linux-amd64", True, ()),
        ("Linux", "aarch64", "linux-arm64", True, ("arm64 is not tested", "RAY=real", "make forecast")),
        ("Linux", "riscv64", "linux-riscv64", True, ("riscv64 is not tested", "need compilers")),
        ("Darwin", "arm64", "darwin-arm64", False, ("not on macOS", "make preview", "not tested here")),
        ("Darwin", "x86_64", "darwin-amd64", False, ("not on macOS",)),
        ("FreeBSD", "amd64", "freebsd-amd64", False, ("not on FreeBSD",)),
    ],
)
def test_support(system: str, machine: str, name: str, sandbox: bool, words: tuple[str, ...]) -> None:
    assert platform_name(system, machine) == name
    here = support(system, machine)
    assert here.sandbox is sandbox
    assert bool(here.note) == bool(words)
    for word in words:
        assert word in here.note


class Created(Exception):
    """The Python environment would be created now."""


@pytest.fixture
def before_the_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def ensure_environment() -> None:
        raise Created

    monkeypatch.setattr(bootstrap, "ensure_environment", ensure_environment)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return monkeypatch


def test_up_says_on_macos_what_works_before_anything_is_created(
    before_the_environment: pytest.MonkeyPatch,
) -> None:
    before_the_environment.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(SystemExit, match=r"make up runs on Linux only, not on macOS.*make forecast"):
        bootstrap.main(["sandbox", "up", "--name", "local"])
    with pytest.raises(Created):
        bootstrap.main(["preview", "dev"])


def test_up_says_on_arm64_what_is_not_tested_before_anything_is_created(
    before_the_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before_the_environment.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(Created):
        bootstrap.main(["sandbox", "up"])
    assert capsys.readouterr().out.startswith("Linux on arm64 is not tested.")
