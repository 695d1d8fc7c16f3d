"""The controller's image: built from this checkout, pushed to the stack's own registry."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pulumi_docker_build as docker_build
from pulumi_gcp import artifactregistry

from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from settings.model.controller import Build

CHECKOUT = Path(__file__).parents[2]
SOURCES = (
    "Dockerfile",
    ".dockerignore",
    "requirements/controller.lock",
    "requirements/core.lock",
    "muster",
)
OLD = "2592000s"  # 30 days
TAG_LENGTH = 16
# Artifact Registry counts an index, the image in it and the image's attestations as versions.
VERSIONS_OF_AN_IMAGE = 3


@dataclass(frozen=True)
class ImageArgs:
    """`cluster` is the name of the stack's cluster, from which the registry gets its own."""

    build: Build
    cluster: str
    google: GoogleCloud

    @property
    def repository(self) -> str:
        """The registry and the repository of the image."""
        return self.build.registry(self.cluster)


class Image(Component):
    """The image, with its SBOM and provenance, and its registry; `ref` is repository, tag and digest.

    `pulumi up` needs Docker with buildx, and credentials for the registry
    (`gcloud auth configure-docker <region>-docker.pkg.dev`).
    """

    def __init__(self, name: str, args: ImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Image", name, opts)
        registry = self._registry(args)
        google = args.google
        name = args.build.image(google.project, google.region, args.cluster)
        tag = f"{name}:{content_tag(CHECKOUT, args.build.core)}"
        image = docker_build.Image(
            self.named("controller"),
            # relative to the program: another checkout's absolute path would look like another image
            context=docker_build.BuildContextArgs(location="."),
            dockerfile=docker_build.DockerfileArgs(location="Dockerfile"),
            build_args={"CORE": args.build.core, **attestations(args.build)},
            platforms=[docker_build.Platform.LINUX_AMD64],
            tags=[tag],
            push=True,
            build_on_preview=False,  # previews need no Docker
            opts=self.child(depends_on=[registry]),
        )
        self.ref = image.ref
        self.register_outputs({"ref": self.ref})

    def _registry(self, args: ImageArgs) -> artifactregistry.Repository:
        """Declares the registry, which deletes old images except the newest ones.

        Tags are mutable: Artifact Registry never deletes an image with an immutable tag, and every image here
        has a tag. A moved tag changes nothing that runs, as the Deployment names the digest.
        """
        google = args.google
        return artifactregistry.Repository(
            self.named(args.repository),
            repository_id=args.repository,
            project=google.project,
            location=google.region,
            format="DOCKER",
            description="Images of Muster's controller.",
            labels=google.labels,
            docker_config=artifactregistry.RepositoryDockerConfigArgs(immutable_tags=False),
            vulnerability_scanning_config=artifactregistry.RepositoryVulnerabilityScanningConfigArgs(
                enablement_config="INHERITED"
            ),
            cleanup_policies=[
                artifactregistry.RepositoryCleanupPolicyArgs(
                    id="keep-newest",
                    action="KEEP",
                    most_recent_versions=artifactregistry.RepositoryCleanupPolicyMostRecentVersionsArgs(
                        keep_count=args.build.keep_images * VERSIONS_OF_AN_IMAGE
                    ),
                ),
                artifactregistry.RepositoryCleanupPolicyArgs(
                    id="delete-old",
                    action="DELETE",
                    condition=artifactregistry.RepositoryCleanupPolicyConditionArgs(
                        tag_state="ANY", older_than=OLD
                    ),
                ),
            ],
            opts=self.child(provider=google.provider, depends_on=google.apis),
        )


def attestations(build: Build) -> dict[str, str]:
    """Returns the build arguments by which BuildKit attaches an SBOM (SPDX) and the whole provenance (SLSA).

    The provider has no inputs for them. Source: BuildKit 0.31, frontend/attestations/parse.go; as of provider
    0.0.22 only this requests attestations (its provider/internal/client.go turns buildx's own off).
    """
    return {
        "BUILDKIT_ATTEST_SBOM": f"generator={build.sbom_generator}",
        "BUILDKIT_ATTEST_PROVENANCE": "mode=max",
    }


def content_tag(checkout: Path, core: str) -> str:
    """Returns a tag that changes exactly if the image's sources change, or what becomes of the core."""
    digest = hashlib.sha256(core.encode())
    for source in SOURCES:
        path = checkout / source
        files = sorted(f for f in path.rglob("*") if _in_image(f)) if path.is_dir() else [path]
        for file in files:
            digest.update(f"{file.relative_to(checkout)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:TAG_LENGTH]


def _in_image(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts
