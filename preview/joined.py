"""The other stacks of a split platform in a preview: their states, as if they were deployed."""

from pathlib import Path

from preview.pulumi_cli import PulumiCli
from settings.load import SettingsError, config_of
from settings.split import stack_name, whole


def all_stacks(settings: Path) -> tuple[str, ...]:
    """Returns the stacks that deploy the platform of this file, in the order in which they are deployed.

    A file that cannot be read has none: its own preview reports it.
    """
    try:
        split = whole(config_of(settings), settings, config_of).split
    except SettingsError:
        return ()
    return split.stacks if split else ()


def joined_stacks(settings: Path) -> tuple[str, ...]:
    """Returns the stacks that this stack file needs, in the order in which they are deployed."""
    stacks = all_stacks(settings)
    return stacks[: stacks.index(stack_name(settings))] if stacks else ()


def assume_joined(cli: PulumiCli, settings: Path) -> None:
    """Gives the stacks that this stack file needs the states that their files result in.

    cli: with stand-in providers that have placeholders, and a backend without these stacks.
    """
    for name in joined_stacks(settings):
        stack = cli.select(name, settings.with_name(f"Pulumi.{name}.yaml"))
        plan = cli.folder / f"{name}.plan.json"
        stack.preview(plan=plan)
        stack.assume(plan)
