"""Writes docs/metrics.md from the table of metrics."""

from collections.abc import Iterator

from prometheus_client.process_collector import ProcessCollector

from muster.controller.metrics.spec import COUNTER
from muster.controller.metrics.table import METRICS, WAIT_BUCKETS_S

HEAD = f"""# Metrics

Written by `make docs` from `muster/controller/metrics/table.py`. The controller serves them at `/metrics` of
its HTTP port; in a sandbox `make status` prints the address. Probes and alerts: [operating.md](operating.md).
Metrics that Kueue also has use its names and labels, with `muster_` for `kueue_`. A counter's name ends in
`_total`; a histogram has `_bucket`, `_sum` and `_count`; histograms of waiting times have buckets from
{WAIT_BUCKETS_S[0]} s to {WAIT_BUCKETS_S[-1]:,.0f} s.

| metric | type | labels | meaning |
|---|---|---|---|
"""


def reference() -> str:
    """Returns the page as Markdown."""
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in sorted(_rows()))


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for spec in METRICS:
        labels = ", ".join(f"`{name}`" for name in spec.labels)
        yield f"`{spec.full_name}`", spec.kind, labels, spec.help.replace("|", "\\|")
    for family in ProcessCollector(registry=None).collect():
        name = f"{family.name}_total" if family.type == COUNTER else family.name
        yield f"`{name}`", family.type, "", family.documentation
