"""Requests that write, as the API server's metrics count them."""

import re
from collections import Counter
from collections.abc import Iterator

REQUESTS = "apiserver_request_total{"
LABEL = re.compile(r'(\w+)="([^"]*)"')
VERBS = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}
KUEUE_GROUP = "kueue.x-k8s.io"
OTHER_KINDS = {"events", "leases"}
"""Kinds of other groups that an engine may write. The API server itself and the runner write further ones."""


def writes(metrics: str) -> dict[str, int]:
    """Returns the number of requests by verb and kind, as in `PATCH workloads/status`; most first."""
    counts: Counter[str] = Counter()
    for labels, value in _requests(metrics):
        kind, verb = labels["resource"], labels["verb"]
        if verb in VERBS and (labels["group"] == KUEUE_GROUP or kind in OTHER_KINDS):
            below = f"/{labels['subresource']}" if labels["subresource"] else ""
            counts[f"{verb} {kind}{below}"] += round(value)
    return dict(counts.most_common())


def _requests(metrics: str) -> Iterator[tuple[dict[str, str], float]]:
    for line in metrics.splitlines():
        if line.startswith(REQUESTS):
            labels, _, value = line.rpartition(" ")
            yield dict(LABEL.findall(labels)), float(value)
