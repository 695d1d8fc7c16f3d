"""Requirements of real nodes on the machine, each with the remedy in its sentence."""

import shutil

import pytest

from sandbox.realnodes import machine


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that has everything, as far as these checks look."""
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(machine, "_kernel", lambda: None)
    return monkeypatch


def test_a_machine_with_everything_lacks_nothing(debian: pytest.MonkeyPatch) -> None:
    assert machine.missing() is None


def test_other_systems_are_refused(debian: pytest.MonkeyPatch) -> None:
    debian.setattr("platform.system", lambda: "Darwin")
    assert machine.missing() == "real nodes need Linux"


def test_another_user_is_asked_to_be_root(debian: pytest.MonkeyPatch) -> None:
    debian.setattr("os.geteuid", lambda: 1000)
    assert "run make as root" in (machine.missing() or "")


def test_missing_commands_name_the_packages_that_have_them(debian: pytest.MonkeyPatch) -> None:
    debian.setattr(shutil, "which", lambda name: None if name in ("ip", "nsenter") else f"/usr/bin/{name}")
    assert machine.missing() == ("missing commands: nsenter, ip; apt-get install --yes iproute2 util-linux")
