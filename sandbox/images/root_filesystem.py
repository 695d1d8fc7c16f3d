"""The root file system below all images: Debian packages, accounts and certificates, as a shared layer."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.debian import extracted, versions
from sandbox.images.image import images_directory, key_of, remove_unused
from sandbox.images.image_python import ImagePython
from sandbox.images.layers import Layer, read_layer, write_layer

PACKAGES = (
    "base-files",
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "debianutils",
    "findutils",
    "grep",  # KubeRay's probes pipe wget into it
    "gzip",
    "hostname",
    "libc-bin",
    "libgomp1",
    "libstdc++6",
    "mawk",
    "netbase",
    "procps",  # Ray runs ps
    "python3",
    "python3-venv",  # the Dockerfile's first step
    "sed",
    "tar",
    "tzdata",
    "usr-is-merged",  # without it, the dependencies include usrmerge, and so Perl
    "wget",
)
NONROOT = 65532
RAY_USER = 1000
ACCOUNTS = {"root": (0, "/root"), "ray": (RAY_USER, "/home/ray"), "nonroot": (NONROOT, "/home/nonroot")}
BYTES = 600 << 20
_FORMAT = "2"
"""Increment if the same packages result in a different layer."""
_REMOVED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian")
_FOLDERS = {
    **dict.fromkeys(
        ("dev", "home/nonroot", "home/ray", "proc", "run", "sys", "usr/local/bin", "var/log"), 0o755
    ),
    **dict.fromkeys(("tmp", "var/tmp"), 0o1777),
    "root": 0o700,
}
_LINKS = {
    "usr/bin/awk": "mawk",
    "usr/bin/python": "python3",
    "usr/bin/sh": "dash",
    "usr/bin/which": "which.debianutils",
}
OWNERS = {"home/ray": RAY_USER, "home/nonroot": NONROOT}


@dataclass(frozen=True)
class Base:
    """The lowest layer of the images, made from the packages unpacked in `root`."""

    root: Path

    @property
    def python(self) -> ImagePython:
        """The Python of the images."""
        return ImagePython(self.root)

    @property
    def key(self) -> str:
        """A digest that changes with the layer's inputs."""
        return key_of([_FORMAT, versions(self.root)])

    def layer(self) -> Layer:
        """Returns the layer, written once. The caller holds the lock of images."""
        path = images_directory() / f"base-{self.key}.layer"
        if path.exists():
            return read_layer(path)
        with TemporaryDirectory(prefix="unfinished-", dir=path.parent) as temporary:
            tree = Path(temporary) / "root"
            shutil.copytree(self.root, tree, symlinks=True)
            complete(tree)
            self.python.compile(tree, "usr/lib/python3")
            self.python.compile(tree, f"usr/lib/python{self.python.version}")
            layer = write_layer(Path(temporary) / "layer", tree, OWNERS)
            layer.path.rename(path)
        remove_unused("base-*.layer")
        return Layer(path, layer.digest, layer.size)


def base() -> Base:
    """Returns the root file system below the images. Raises StepError if packages can't be downloaded."""
    return Base(extracted(PACKAGES))


def complete(root: Path) -> None:
    """Does what the packages' maintainer scripts would do, as far as containers need it."""
    for name in _REMOVED:
        shutil.rmtree(root / name, ignore_errors=True)
    for name, mode in _FOLDERS.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name).chmod(mode)
    for name, target in _LINKS.items():
        if not (root / name).is_symlink():
            (root / name).symlink_to(target)
    for name, content in _files().items():
        (root / name).write_text(content)
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(path.read_text() for path in certificates))


def _files() -> dict[str, str]:
    """Returns the files of /etc; the container runtime writes hosts and resolv.conf."""
    accounts = [(name, number, home) for name, (number, home) in ACCOUNTS.items()]
    return {
        "etc/passwd": "".join(f"{name}:x:{i}:{i}:{name}:{home}:/bin/bash\n" for name, i, home in accounts),
        "etc/group": "".join(f"{name}:x:{i}:\n" for name, i, _ in accounts),
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/resolv.conf": "",
    }
