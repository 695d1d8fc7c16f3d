"""Rules of forecasts: what they name exists."""

from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

from muster.admission import HOSTNAME
from muster.forecast.assumptions import Assumptions, check
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, did_you_mean
from settings.rules.registry import doubt, rule


@rule("pools", "admission", "forecast", "queues")
def forecast_names_exist(settings: Settings) -> Iterator[Finding]:
    """Limits, prices and assumptions of forecasts name what exists (`muster forecast --assumptions`)."""
    queues = [queue.name for queue in settings.queues.cluster_queues]
    for i, limit in enumerate(settings.forecast.limits):
        path = ("muster:forecast", "limits", i)
        if limit.queue not in queues:
            hint = did_you_mean(limit.queue, queues)
            yield Finding((*path, "queue"), "the name of a cluster queue in this file", hint)
        priorities = list(settings.admission.priorities)
        if limit.priority is not None and limit.priority not in priorities:
            hint = did_you_mean(limit.priority, priorities)
            yield Finding((*path, "priority"), "the name of a priority in muster:admission.priorities", hint)
    names = [field.name for field in fields(Assumptions)]
    for name in settings.forecast.assumptions:
        if name not in names:
            hint = did_you_mean(name, names)
            yield Finding(("muster:forecast", "assumptions", name), "the name of an assumption", hint)
    flavors = [pool.flavor_name for pool in settings.pools]
    prices = settings.forecast.prices
    for flavor in prices.accelerator_hour if prices else ():
        if flavor not in flavors:
            hint = did_you_mean(flavor, flavors)
            price = ("muster:forecast", "prices", "acceleratorHour", flavor)
            yield Finding(price, "the flavor of a pool in this file", hint)


@rule("forecast")
def assumptions_are_in_range(settings: Settings) -> Iterator[Finding]:
    """Assumptions have values that the simulation can use, such as shares from 0 to 1 (`muster forecast
    --assumptions`)."""
    names = {field.name for field in fields(Assumptions)}
    for name, value in settings.forecast.assumptions.items():
        if name in names:
            try:
                check(Assumptions(**{name: value}))
            except ValueError as error:
                yield Finding(
                    ("muster:forecast", "assumptions", name),
                    str(error).rpartition("expected ")[2],
                    "choose such a value, or remove it",
                )


@rule("forecast")
def limits_are_unique(settings: Settings) -> Iterator[Finding]:
    """A queue and priority has one limit of a statistic: the less strict of two has no effect
    (docs/forecast.md)."""
    taken = set[tuple[object, ...]]()
    for i, limit in enumerate(settings.forecast.limits):
        # Two shares, such as 50 % in an hour and 90 % in a day, are different limits.
        share = limit.max_minutes if limit.statistic == "within" else None
        key = (limit.queue, limit.priority, limit.statistic, share)
        if key in taken:
            yield Finding(
                ("muster:forecast", "limits", i),
                f"one limit of {limit.statistic} for this queue and priority",
                "remove the less strict one",
            )
        taken.add(key)


@rule("pools", "forecast")
def forecast_topologies_exist(settings: Settings) -> Iterator[Finding]:
    """Assumptions about topologies name flavors and levels of pools (`topology`); a domain is part of one
    domain of the level above."""
    levels_by_flavor = {pool.flavor_name: pool.topology for pool in settings.pools if pool.topology}
    for flavor, topology in settings.forecast.topologies.items():
        path = ("muster:forecast", "topologies", flavor)
        levels = levels_by_flavor.get(flavor)
        if levels is None:
            hint = did_you_mean(flavor, list(levels_by_flavor))
            yield Finding(path, "the flavor of a pool with `topology` in this file", hint)
            continue
        sizes = topology.nodes_per_domain
        for level in sizes:
            if level not in levels or level == HOSTNAME:
                wide = ", ".join(name for name in levels if name != HOSTNAME) or "none"
                expected = f"a level of the pool's topology above single nodes: {wide}"
                yield Finding((*path, "nodesPerDomain", level), expected, "rename or remove it")
        for key, requested in (("required", topology.required), ("preferred", topology.preferred)):
            if requested is not None and requested not in levels:
                expected = f"a level of the pool's topology: {', '.join(levels)}"
                yield Finding((*path, key), expected, did_you_mean(requested, list(levels)))
        for wide, narrow in pairwise(level for level in levels if level in sizes):
            if sizes[wide] % sizes[narrow]:
                where = (*path, "nodesPerDomain", wide)
                expected = f"a multiple of {sizes[narrow]}, the nodes per {narrow}"
                yield Finding(where, expected, "make each domain part of one domain of the level above")


@doubt("forecast")
def trace_may_be_missing(settings: Settings) -> Iterator[Doubt]:
    """The trace of forecasts is a file in the folder of Pulumi.yaml, which may not exist before a workflow
    downloads it (`muster forecast --trace`)."""
    trace = settings.forecast.trace
    if trace is not None and Path(trace).is_absolute():
        yield Doubt(
            ("muster:forecast", "trace"),
            "an absolute path: forecasts fail on other machines, also in workflows of pull requests",
            "docs/forecast.md",
        )
    # Pulumi runs the program in the folder of Pulumi.yaml, to which the path is relative.
    if trace is not None and not Path(trace).is_file():
        yield Doubt(
            ("muster:forecast", "trace"),
            "the folder of Pulumi.yaml has no such file: forecasts of this stack fail until it exists",
            "docs/forecast.md",
        )


@doubt("pools", "forecast")
def prices_may_be_unused(settings: Settings) -> Iterator[Doubt]:
    """Prices are of accelerators, by the way in which their pool gets its nodes (docs/forecast.md)."""
    prices, pools = settings.forecast.prices, {pool.flavor_name: pool for pool in settings.pools}
    for flavor, price in prices.accelerator_hour.items() if prices else ():
        pool, path = pools.get(flavor), ("muster:forecast", "prices", "acceleratorHour", flavor)
        if pool is not None and not pool.accelerators:
            yield Doubt(
                path, f"pool {pool.name} has no accelerators, so it costs nothing", "docs/forecast.md"
            )
        elif pool is not None and isinstance(price, dict) and pool.provisioning not in price:
            why = f"pool {pool.name} is {pool.provisioning}, for which there is no price: it costs nothing"
            yield Doubt(path, why, "docs/forecast.md")
