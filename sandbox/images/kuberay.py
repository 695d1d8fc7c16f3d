"""The image of KubeRay's operator, as its manifests and its chart start it."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.image import Recipe, key_of
from sandbox.images.layers import write_layer
from sandbox.images.oci import Settings, write_archive
from sandbox.images.root_filesystem import NONROOT, Base
from tools.toolchain.tools import TOOLS

REPOSITORIES = ("docker.io/kuberay/operator", "quay.io/kuberay/operator")
"""Repositories that KubeRay's manifests (config/manager) and its chart name."""
SETTINGS = Settings(entrypoint=["/manager"], user=f"{NONROOT}:{NONROOT}")
BYTES = 300 << 20
SECONDS = 5


def operator(executable: Path, key: str, base: Base) -> Recipe:
    """Returns the recipe of the image; `key` identifies the build of the executable."""
    names = tuple(f"{repository}:{TOOLS['ray-operator'].version}" for repository in REPOSITORIES)

    def build(archive: Path) -> None:
        with TemporaryDirectory(dir=archive.parent) as temporary:
            tree = Path(temporary) / "root"
            tree.mkdir()
            shutil.copy(executable, tree / "manager")
            layer = write_layer(Path(temporary) / "layer", tree)
            write_archive(archive, names, [base.layer(), layer], SETTINGS)

    return Recipe("kuberay-operator", names, key_of([base.key, key]), BYTES, SECONDS, build)
