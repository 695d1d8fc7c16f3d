"""The option for prices of accelerators, which are otherwise in the stack file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from muster.cli.configurations import SimulatedConfiguration
from muster.cli.paths import InputPath
from muster.cli.verb import InputError
from muster.forecast.costs.price_file import read_prices

prices_option = click.option(
    "--prices",
    metavar="FILE",
    type=InputPath(),
    help="prices of accelerators, for the costs of a month: YAML with the keys of muster:forecast.prices "
    "(default: the stack's)",
)


def with_prices(sides: Sequence[SimulatedConfiguration], file: Path | None) -> list[SimulatedConfiguration]:
    """Returns the configurations with the prices of the option `--prices`.

    Raises: FileError; InputError for a file without any flavor of the configurations, as nothing would have a
    price. Other flavors may be missing or unused: a price list applies to several clusters."""
    if file is None:
        return [*sides]
    prices = read_prices(file)
    flavors = {flavor for side in sides for flavor in side.configuration.snapshot.flavors}
    if flavors.isdisjoint(prices.flavors):
        names = " and ".join(dict.fromkeys(side.configuration.name for side in sides))
        raise InputError(
            f"{file}: acceleratorHour has no flavor of {names}; expected at least one of: "
            f"{', '.join(sorted(flavors))}"
        )
    return [replace(side, prices=prices) for side in sides]
