"""Builds the images of real nodes that are not in the cache."""

import shutil
import time
from collections.abc import Sequence

from sandbox.images import apt, buildah, root_filesystem
from sandbox.images import controller as controller_image
from sandbox.images import operators as operator_images
from sandbox.images import pause as pause_image
from sandbox.images import ray as ray_image
from sandbox.images.debian import is_extracted
from sandbox.images.image import Image, Recipe, ensure_archive, images_directory, remove_unfinished
from sandbox.images.operators import operator, operators
from tools.bootstrap import exclusive
from tools.toolchain.ensure import ensure_tools, find_tool
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS


def tool_names(engine: str) -> tuple[str, ...]:
    """Returns the tools that images contain."""
    return ("pause", *operators(engine))


def all_bytes(engine: str) -> int:
    """Returns the disk that the images need if none is in the cache, without Debian's packages."""
    of_operators = operator_images.BYTES * len(operators(engine))
    return pause_image.BYTES + of_operators + ray_image.BYTES + controller_image.BYTES


def ensure_images(screen: Screen, engine: str) -> list[Image]:
    """Returns all images of a sandbox with this engine; builds those whose inputs have changed.

    Raises StepError with what the machine lacks, before anything is built.
    """
    images_directory().mkdir(parents=True, exist_ok=True)
    with exclusive(images_directory() / "lock", "the images"):
        remove_unfinished(images_directory())
        check(bytes_to_build(engine))
        recipes = image_recipes(screen, engine)
        for recipe in recipes:
            _ensure(recipe, screen)
    return [image for recipe in recipes for image in recipe.images]


def bytes_to_build(engine: str) -> int:
    """Returns the disk that missing images and their temporary files need; 0 if the cache has all images."""
    if not is_extracted(root_filesystem.PACKAGES):
        return root_filesystem.BYTES + all_bytes(engine)
    if any(find_tool(TOOLS[name]) is None for name in tool_names(engine)):
        return all_bytes(engine)
    recipes = image_recipes(Screen(), engine)
    return sum(recipe.bytes for recipe in recipes if not recipe.archive.exists())


def check(needed_bytes: int) -> None:
    """Raises StepError if this machine lacks something to build the missing images."""
    if needed_bytes == 0:
        return
    if (reason := apt.missing() or buildah.missing()) is not None:
        raise StepError(reason)
    images_directory().mkdir(parents=True, exist_ok=True)  # a new cache has no such folder to measure
    free_bytes = shutil.disk_usage(images_directory()).free
    if free_bytes < needed_bytes:
        raise StepError(
            f"the images need {needed_bytes / 1e9:.1f} GB in {images_directory()}, where "
            f"{free_bytes / 1e9:.1f} GB are free",
            try_this="free some disk, or set MUSTER_CACHE to a folder on another disk",
        )


def image_recipes(screen: Screen, engine: str) -> Sequence[Recipe]:
    """Returns the recipes of all images; downloads Debian's packages and builds the tools in them."""
    tools = ensure_tools(tool_names(engine), screen)
    base = root_filesystem.base()
    holder = tools["pause"].path
    return [
        pause_image.pause(holder, holder.parent.name),
        *(operator(name, tools[name].path, base) for name in operators(engine)),
        ray_image.ray(base),
        controller_image.controller(base),
    ]


def _ensure(recipe: Recipe, screen: Screen) -> None:
    began = time.monotonic()
    place, expected = f"  image {recipe.title}", f"about {recipe.seconds} s on 2 cores"
    with screen.activity(lambda elapsed: f"{place}: building for {elapsed:.0f} s, {expected}"):
        built = ensure_archive(recipe)
    if built:
        size = recipe.archive.stat().st_size
        screen.line(f"{place}: built in {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB")
