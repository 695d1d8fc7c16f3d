"""Builds a Dockerfile with Debian's buildah, which is unpacked into the cache and not installed.

It needs root for mounts and chroot, and no container engine, no user namespaces and no daemon.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.debian import MERGED, extracted
from sandbox.images.oci import pack_layout
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import StepError, tail

SCRIPT = Path(__file__).with_name("build.sh")
LOG = "image-controller.log"
_FOLDERS = ("context", "dev", "proc", "root", "run", "sys", "tmp", "usr", "work")
_PIP_KEYS = ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout")
_CERTIFICATES = "/etc/pip.pem"
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def missing() -> str | None:
    """Returns in one line what this machine lacks to build a Dockerfile; None if nothing."""
    if os.geteuid() != 0:
        return "the images of real nodes are built by root: run this as root"
    for program in ("setpriv", "unshare", "mount", "chroot"):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install util-linux coreutils"
    return None


def build(archive: Path, name: str, context: Path, base: Path, arguments: Mapping[str, str]) -> None:
    """Builds the context's Dockerfile and writes an OCI archive of the image.

    base: an archive whose image replaces the Dockerfile's argument PYTHON. Steps can reach the machine's
    package index. Raises StepError with the end of the log if a step fails.
    """
    if (reason := missing()) is not None:
        raise StepError(reason)
    with TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as temporary:
        work, system = Path(temporary) / "work", Path(temporary) / "system"
        work.mkdir()
        shutil.copy(base, work / "base.tar")
        root = extracted(["buildah"])
        prepare_system(system, root)
        options = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        volumes = [f"--volume={file}:{file}:ro" for file in ("/etc/pip.conf", _CERTIFICATES)]
        build_options = ["--isolation=chroot", "--build-arg=PYTHON=oci-archive:/work/base.tar"]
        build_options += [*options, *volumes, f"--tag={name}", "--file=/context/Dockerfile"]
        for step in (["build", *build_options, "/context"], ["push", name, "oci:/work/layout"]):
            _run([str(SCRIPT), str(root), str(system), str(context), str(work)], step)
        pack_layout(archive, [name], work / "layout")


def prepare_system(system: Path, root: Path) -> None:
    """Writes the folder that becomes buildah's root: links, empty folders to mount, and /etc."""
    for folder in (*_FOLDERS, "var/tmp", "etc/containers"):
        (system / folder).mkdir(parents=True)
    for link in MERGED:
        (system / link).symlink_to(f"usr/{link}")
    etc = system / "etc"
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\n")
    (etc / "containers" / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}\n')
    (etc / "containers" / "registries.conf").write_text("unqualified-search-registries = []\n")
    shutil.copy(root / "etc" / "ld.so.cache", etc)
    for machine_file in ("resolv.conf", "hosts"):
        if Path("/etc", machine_file).exists():
            shutil.copy(Path("/etc", machine_file), etc)
    settings = _pip_settings()
    certificates = Path(settings.get("cert", ""))
    (system / _CERTIFICATES.lstrip("/")).write_bytes(
        certificates.read_bytes() if certificates.is_file() else b""
    )
    (etc / "pip.conf").write_text(pip_configuration(settings))


def pip_configuration(settings: Mapping[str, str]) -> str:
    """Returns a pip.conf with the machine's index and certificates; paths of the machine are left out."""
    lines = [f"{key} = {settings[key]}" for key in _PIP_KEYS if key in settings]
    if settings.get("cert"):
        lines.append(f"cert = {_CERTIFICATES}")
    return "\n".join(["[global]", *lines]) + "\n"


def pip_settings(listed: str) -> dict[str, str]:
    """Parses the output of `pip config list`, such as `global.index-url='https://…'`."""
    settings: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        settings.setdefault(name.rpartition(".")[2], value.strip("'"))
    return settings


def _pip_settings() -> dict[str, str]:
    command = [sys.executable, "-m", "pip", "config", "list"]
    return pip_settings(subprocess.run(command, capture_output=True, text=True).stdout)


def _run(entered: Sequence[str], step: Sequence[str]) -> None:
    log = cache_directory() / "logs" / LOG
    log.parent.mkdir(exist_ok=True)
    proxies = [f"{name}={os.environ[name]}" for name in _PROXIES if name in os.environ]
    # an interrupted or killed run ends all processes of the build
    isolated = ["setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--propagation=private"]
    isolated += ["--pid", "--fork", "--kill-child", "sh"]
    storage = ["buildah", "--root=/work/storage", "--runroot=/work/run"]
    clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", *proxies]
    with log.open("a" if step[0] != "build" else "w") as output:
        result = subprocess.run(
            [*clean, *isolated, *entered, *storage, *step],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if result.returncode != 0:
        raise StepError(f"buildah {step[0]} fails:\n{tail(log)}", log=log, try_this="read the log")
