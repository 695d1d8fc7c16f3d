"""Images of operators and of the DNS, as their manifests start them: an executable above the base."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.images.image import Recipe, key_of
from sandbox.images.layers import write_layer
from sandbox.images.oci import Settings, write_archive
from sandbox.images.root_filesystem import NONROOT, Base
from tools.toolchain.tools import TOOLS

REPOSITORIES = {
    # KubeRay's manifests (config/manager) name the first, its chart the second.
    "ray-operator": ("docker.io/kuberay/operator", "quay.io/kuberay/operator"),
    "coredns": ("registry.k8s.io/coredns/coredns",),
    "kueue": ("registry.k8s.io/kueue/kueue",),
}
"""The repositories of each operator's image, by the name of the tool in it."""
TITLES = {"ray-operator": "kuberay-operator"}
SETTINGS = Settings(entrypoint=["/manager"], user=f"{NONROOT}:{NONROOT}")
BYTES = 300 << 20
SECONDS = 5


def operators(engine: str) -> tuple[str, ...]:
    """Returns the tools that run as pods on real nodes with this engine, in addition to the platform's."""
    return ("ray-operator", "coredns", *({"kueue": ("kueue",)}.get(engine, ())))


def operator(tool: str, executable: Path, base: Base) -> Recipe:
    """Returns the recipe of an operator's image; the folder of the executable identifies its build."""
    names = tuple(f"{repository}:{TOOLS[tool].version}" for repository in REPOSITORIES[tool])

    def build(archive: Path) -> None:
        with TemporaryDirectory(dir=archive.parent) as temporary:
            tree = Path(temporary) / "root"
            tree.mkdir()
            shutil.copy(executable, tree / "manager")
            layer = write_layer(Path(temporary) / "layer", tree)
            write_archive(archive, names, [base.layer(), layer], SETTINGS)

    key = key_of([base.key, executable.parent.name])
    return Recipe(TITLES.get(tool, tool), names, key, BYTES, SECONDS, build)
