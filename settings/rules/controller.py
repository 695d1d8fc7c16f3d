"""Rules of Muster's controller."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Existing
from settings.model.stack import Settings
from settings.problems import Finding


def images_are_built_for_google_cloud(settings: Settings) -> Iterator[Finding]:
    """The stack creates the registry in the cluster's project and region."""
    controller = settings.controller
    if controller is not None and controller.build is not None and isinstance(settings.cluster, Existing):
        yield Finding(
            ("muster:controller", "build"),
            "a GKE cluster: the stack creates the image's registry in its project and region",
            "build and push the image yourself, and write `image: repository@sha256:…`",
        )
