"""The image of the container that holds a pod's namespaces."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.image import Recipe
from sandbox.images.layers import write_layer
from sandbox.images.oci import Settings, write_archive

NAME = "registry.k8s.io/pause:3.10"
SETTINGS = Settings(entrypoint=["/pause"], user="65535:65535")
BYTES = 10 << 20
SECONDS = 1


def pause(executable: Path, key: str) -> Recipe:
    """Returns the recipe of the image; `key` identifies the build of the executable."""

    def build(archive: Path) -> None:
        with TemporaryDirectory(dir=archive.parent) as temporary:
            tree = Path(temporary) / "root"
            tree.mkdir()
            shutil.copy(executable, tree / "pause")
            write_archive(archive, [NAME], [write_layer(Path(temporary) / "layer", tree)], SETTINGS)

    return Recipe("pause", (NAME,), key, BYTES, SECONDS, build)
