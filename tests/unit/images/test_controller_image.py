"""The controller's image is the Dockerfile's, and its steps reach the machine's package index."""

import re
from pathlib import Path

import pytest

from sandbox.images import buildah, controller
from sandbox.images.buildah import pip_configuration, pip_settings, prepare_system
from sandbox.images.root_filesystem import ACCOUNTS, PACKAGES
from tools.toolchain.paths import CHECKOUT

DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
LISTED = """:env:.cert='/etc/ssl/own.pem'
global.cert='/etc/ssl/other.pem'
global.index-url='https://index/simple?a=b'
global.find-links='/opt/wheels'
"""


def test_the_machines_index_and_certificates_are_used() -> None:
    settings = pip_settings(LISTED)
    assert settings["cert"] == "/etc/ssl/own.pem"  # the environment precedes files
    assert pip_configuration(settings).splitlines() == [
        "[global]",
        "index-url = https://index/simple?a=b",
        "cert = /etc/pip.pem",
    ]
    assert pip_configuration({}) == "[global]\n"


def test_the_builders_root_has_the_machines_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.pem").write_text("certificate")
    (tmp_path / "packages" / "etc").mkdir(parents=True)
    (tmp_path / "packages" / "etc" / "ld.so.cache").touch()
    monkeypatch.setattr(buildah, "_pip_settings", lambda: {"cert": str(tmp_path / "own.pem")})
    prepare_system(tmp_path / "system", tmp_path / "packages")
    assert (tmp_path / "system/etc/pip.pem").read_text() == "certificate"
    assert "cert = /etc/pip.pem" in (tmp_path / "system/etc/pip.conf").read_text()


def test_another_user_than_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "root" in (buildah.missing() or "")


def test_the_key_covers_every_file_that_the_dockerfile_copies() -> None:
    stage = DOCKERFILE.split("AS compiled")[0] + DOCKERFILE.rpartition("FROM")[2]
    copied = set(re.findall(r"(?m)^COPY (?!--from)(\S+) ", stage))
    assert copied == {"muster", *controller.SOURCES} - {"Dockerfile", ".dockerignore"}


def test_the_base_has_what_the_dockerfile_expects() -> None:
    assert controller.CORE in re.findall(r"(?m)^FROM \S+ AS (\w+)$", DOCKERFILE)
    assert "python3-venv" in PACKAGES
    (user,) = re.findall(r"(?m)^USER (\d+):\d+$", DOCKERFILE)
    assert int(user) in {number for number, _home in ACCOUNTS.values()}
