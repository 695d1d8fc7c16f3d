"""Names of resources when one program has several platforms."""

from pathlib import Path

import pytest

from components.base import STACK_PLATFORM
from components.platform import Platform, PlatformArgs
from settings.load import Settings, load, parse
from tests.unit.components.harness import Declarations, declare, declare_stack
from tests.unit.settings.builders import FILE, with_engine

FILES = sorted((Path(__file__).parents[3] / "stacks").glob("Pulumi.*.yaml"))
STACKS = {path.stem: path for path in FILES}
# The settings of all stacks, and those of the engines that none has.
PLATFORMS = {name: load(path) for name, path in STACKS.items()} | {
    engine: parse(with_engine(engine), FILE) for engine in ("kueue", "kai")
}


def platforms(settings: Settings, *names: str) -> Declarations:
    """Declares platforms with the same settings; `declare` refuses two resources of one kind and name."""

    def program() -> None:
        for name in names:
            Platform(name, PlatformArgs(settings))

    return declare(program)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLATFORMS)
def test_two_platforms_of_one_program_share_no_name(name: str) -> None:
    settings = PLATFORMS[name]
    alone = declare_stack(STACKS[name]) if name in STACKS else platforms(settings, STACK_PLATFORM)
    both = platforms(settings, STACK_PLATFORM, "second")

    second = {name.replace("/", "/second-", 1) for name in alone} - {f"Platform/second-{STACK_PLATFORM}"}
    assert set(both) == {*alone, *second, "Platform/second"}
