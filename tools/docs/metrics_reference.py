"""Writes docs/metrics.md: every metric of the controller, from its registry."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric

from muster.controller.metrics.gauges import WatchAges
from muster.controller.metrics.metrics import WAIT_BUCKETS_S, Metrics

HEAD = f"""# Metrics

Written by `make docs` from the controller's registry. They are served at `/metrics` of its HTTP port; in
a sandbox `make status` prints the address. Probes and alerts: [operating.md](operating.md). Metrics that
Kueue has too use its names and labels, with `muster_` for `kueue_`. A counter's name ends in `_total`; a
histogram has `_bucket`, `_sum` and `_count`; histograms of waiting times have buckets from
{WAIT_BUCKETS_S[0]} s to {WAIT_BUCKETS_S[-1]:,.0f} s.

| metric | type | labels | meaning |
|---|---|---|---|
"""


def reference() -> str:
    """Returns the page as Markdown."""
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in sorted(_rows()))


def _rows() -> Iterator[tuple[str, str, str, str]]:
    registry = Metrics(lambda: True).registry
    registry.register(WatchAges(dict))
    # A family without samples has no labels, but its collector does.
    labels = {
        name: getattr(collector, "_labelnames", ())
        for name, collector in registry._names_to_collectors.items()
    }
    for family in registry.collect():
        series = f"{family.name}_total" if family.type == "counter" else family.name
        names = _labels(family) or labels.get(series, ())
        shown = ", ".join(f"`{name}`" for name in names)
        yield f"`{series}`", family.type, shown, family.documentation.replace("|", "\\|")


def _labels(family: Metric) -> tuple[str, ...]:
    return tuple(getattr(family, "_labelnames", ()))
