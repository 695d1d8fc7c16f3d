"""Writes images as OCI archives: deterministic tar files of layers, configuration, manifest and index.

Format: OCI Image Format Specification v1.1 (image-layout.md, manifest.md, config.md; 2024-02-15). containerd
reads an image's name from the annotation io.containerd.image.name.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.images.layers import Layer

_MEDIA = "application/vnd.oci.image"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Settings:
    """The process of a container, its user and environment, unless the pod sets others."""

    entrypoint: Sequence[str]
    command: Sequence[str] = ()
    user: str = "0:0"
    directory: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Returns the `config` object of the image's configuration."""
        return {
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "User": self.user,
            "WorkingDir": self.directory,
            "Env": [f"{name}={value}" for name, value in self.environment.items()],
        }


def write_archive(path: Path, names: Sequence[str], layers: Sequence[Layer], settings: Settings) -> None:
    """Writes an archive with a single image that has all these names, the lowest layer first."""
    config = _json(
        {
            "architecture": architecture(),
            "os": "linux",
            "config": settings.document(),
            "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(f"{_MEDIA}.config.v1+json", config),
            "layers": [
                {"mediaType": f"{_MEDIA}.layer.v1.tar", "digest": layer.digest, "size": layer.size}
                for layer in layers
            ],
        }
    )
    described = _descriptor(f"{_MEDIA}.manifest.v1+json", manifest)
    with tarfile.open(path, mode="w") as archive:
        _add_index(archive, names, described)
        for blob in (config, manifest):
            _add(archive, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)
        for layer in dict.fromkeys(layers):
            _add_file(archive, f"blobs/{layer.digest.replace(':', '/')}", layer.path)


def pack_layout(path: Path, names: Sequence[str], layout: Path) -> None:
    """Writes an archive of the only image in a folder with an OCI layout, under these names."""
    (described,) = json.loads((layout / "index.json").read_text())["manifests"]
    described.pop("annotations", None)
    with tarfile.open(path, mode="w") as archive:
        _add_index(archive, names, described)
        for blob in sorted((layout / "blobs" / "sha256").iterdir()):
            _add_file(archive, f"blobs/sha256/{blob.name}", blob)


def architecture() -> str:
    """Returns the machine's architecture by its name in Go and in images."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {
        "mediaType": media_type,
        "digest": f"sha256:{hashlib.sha256(blob).hexdigest()}",
        "size": len(blob),
    }


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _add_index(archive: tarfile.TarFile, names: Sequence[str], described: Mapping[str, Any]) -> None:
    entries = [{**described, "annotations": {"io.containerd.image.name": name}} for name in names]
    _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": entries}))


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _add_file(archive: tarfile.TarFile, name: str, source: Path) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = source.stat().st_size
    with source.open("rb") as content:
        archive.addfile(entry, content)
