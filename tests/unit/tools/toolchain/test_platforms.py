"""Each platform: its name, and whether `make up` runs there."""

import pytest

from tools.toolchain.platforms import platform_name, support


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
