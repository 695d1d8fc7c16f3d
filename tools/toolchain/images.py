"""Fetches the layers of a container image by digest: index, manifest and layers are verified."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.toolchain.download import DownloadError
from tools.toolchain.releases import ReleaseFile

ACCEPTED = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
"""The media types of indexes and manifests (OCI distribution specification 1.1, pulling manifests)."""


def layers(file: ReleaseFile, fetch: Callable[[str, str], Path]) -> Iterator[Path]:
    """Yields the layers of an image, the last one first, as the executable of a release is in the last.

    `fetch` returns the verified file at an address with a SHA-256. Raises DownloadError if the image has no
    manifest for the platform.
    """
    repository, _, _ = file.url.partition("/manifests/")
    index = fetch(file.url, file.sha256)
    try:
        digest = _digest_for(file.platform, json.loads(index.read_text()))
        manifest = fetch(f"{repository}/manifests/sha256:{digest}", digest)
        blobs = [_sha256(layer) for layer in json.loads(manifest.read_text())["layers"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DownloadError(f"{file.url}: no image for {file.platform} ({error})") from error
    for blob in reversed(blobs):
        yield fetch(f"{repository}/blobs/sha256:{blob}", blob)


def _digest_for(platform: str, index: dict[str, Any]) -> str:
    for manifest in index["manifests"]:
        if f"{manifest['platform']['os']}-{manifest['platform']['architecture']}" == platform:
            return _sha256(manifest)
    raise KeyError(platform)


def _sha256(descriptor: dict[str, Any]) -> str:
    kind, _, digest = str(descriptor["digest"]).partition(":")
    if kind != "sha256":
        raise ValueError(f"digest {descriptor['digest']}")
    return digest
