"""What is installed in the cluster beside the queues: KubeRay, Kueue, and Muster's own controller."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from stacks.model import Model, refuse

KUBERAY_VERSION = "1.6.2"
KUEUE_VERSION = "0.19.2"

RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._:/-]*?(?P<tag>:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


def _release(version: str) -> str:
    if not RELEASE.fullmatch(version):
        refuse(
            "a whole version without 'v'", f"pin one release by all three numbers, as in {KUBERAY_VERSION}"
        )
    return version


def _pinned_image(image: str) -> str:
    match = IMAGE.fullmatch(image)
    if match is None or match["tag"] == ":latest" or not (match["tag"] or match["digest"]):
        refuse(
            "an image pinned by digest or by a tag other than latest",
            "write repository@sha256:… (or repository:1.2.3)",
        )
    return image


Release = Annotated[str, AfterValidator(_release)]


class KubeRay(Model):
    """KubeRay's operator: its Helm chart, GKE's Ray add-on (which picks the version), or already there."""

    install: Literal["helm", "addon", "existing"] = "helm"
    version: Release | None = None

    @property
    def chart_version(self) -> str:
        return self.version or KUBERAY_VERSION


class Kueue(Model):
    """Kueue's API, and with engine `kueue` its controller too; `existing` when both are already there."""

    install: Literal["upstream", "existing"] = "upstream"
    version: Release = KUEUE_VERSION


class Controller(Model):
    """Muster's controller, deployed with engine `muster`."""

    image: Annotated[str, AfterValidator(_pinned_image)]
