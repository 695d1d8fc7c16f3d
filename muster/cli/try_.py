"""`muster try`: checks whether a job would fit now, before it is submitted."""

import json
from collections.abc import Mapping
from typing import Any

import click

from muster.cli import live
from muster.cli.paths import InputPath
from muster.cli.terminal import visible
from muster.cli.verb import InputError, verb
from muster.cluster.jobs.kinds import alternatives
from muster.files.reading import STDIN, read_text_or_stdin
from muster.files.yaml_documents import documents
from muster.forecast.growth_estimates import GrowthEstimate
from muster.live.report import (
    answer_document,
    answer_sentence,
    answer_tables,
    growth_sentence,
    start_sentence,
)
from muster.live.submitted import submitted
from muster.live.verdict import VerdictKind, verdict

EXIT_CODES = {VerdictKind.FITS: 0, VerdictKind.PREEMPTS: 0, VerdictKind.WAITS: 4, VerdictKind.NEVER: 5}


@verb(
    f"Decides about a {alternatives()} as the controller would: whether it fits now, in "
    "which flavors, which workloads it would preempt, and when it would start. Changes nothing in the "
    "cluster. Exit codes: 0 it fits now, possibly after preemptions; 4 it waits; 5 it cannot be admitted "
    "in its current form; 2 invalid input."
)
@click.option(
    "-f",
    "--filename",
    metavar="FILE",
    type=InputPath(str),
    required=True,
    help="manifest of the job; - for standard input",
)
@live.estimate_options
def command(filename: str, opts: live.EstimateOptions) -> int:
    """Prints whether a job fits now, and its estimated start; returns the exit code."""
    manifest = read_job(filename)
    cluster = live.read_cluster(opts)
    added = submitted(manifest, cluster.objects, cluster.now_ms, opts.namespace)
    state = cluster.state(added.cluster)
    decision = verdict(state, added)
    key, subject = added.workload.key, f"{added.job.kind} {added.job.metadata.key}"
    queue = added.cluster.local_queues[
        f"{added.workload.metadata.namespace}/{added.workload.spec.queue_name}"
    ]
    target, start = queue.spec.cluster_queue, None
    growth: tuple[GrowthEstimate, ...] = ()
    if key in state.workloads and decision.answer is not VerdictKind.NEVER:
        at_once = {group.group: group.fits for group in decision.growth if not group.queued}
        start, growth = live.estimate(cluster, state, key, at_once)
    if opts.json:
        print(json.dumps(answer_document(subject, key, target, state, decision, start, growth), indent=2))
        return EXIT_CODES[decision.answer]
    from muster.cli.screen import show

    print(visible(answer_sentence(subject, target, decision)))
    for group in decision.growth:
        print(visible(group.sentence))
    if start is not None:
        print(start_sentence(start))
    for estimate in growth:
        print(visible(growth_sentence(estimate)))
    print()
    show(answer_tables(state, decision))
    if start is not None:
        live.print_assumptions(cluster, state, start)
    return EXIT_CODES[decision.answer]


def read_job(name: str) -> Mapping[str, Any]:
    """Reads a file with a single manifest. Raises: InputError, FileError."""
    where = "standard input" if name == STDIN else name
    text = read_text_or_stdin(name, "a file with the job's manifest")
    manifests = [document for document in documents(text, where) if document is not None]
    if len(manifests) != 1:
        raise InputError(f"{where}: {len(manifests)} documents; expected one, of the job to try")
    if not isinstance(manifests[0], dict):
        raise InputError(f"{where}: expected a mapping with apiVersion, kind, metadata and spec")
    return manifests[0]
