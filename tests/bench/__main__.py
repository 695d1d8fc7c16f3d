"""Prints every figure and this machine's cores. Exit code 1 if a target is missed."""

import os
import platform
import sys

from preview.plugins.choice import choose_offline, sources
from tests.bench import (
    decisions,
    elastic,
    engine_load,
    first_decision,
    forecasts,
    hard_forecasts,
    setup_times,
    sustained_load,
    victim_searches,
)
from tests.bench.report import Figure, show
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.steps import Screen

ADMISSION_P99_SECONDS_MAX = 1
RSS_MB_MAX = 80


def main() -> int:
    ensure_tools(("pulumi", "kueue"), Screen())
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print(f"plugins of previews: {sources(choose_offline())}")
    figures = [
        *setup_times.cold_builds(),
        *setup_times.warm_up(),
        *setup_times.previews(),
    ]
    show("Setting up", figures)
    decided = [*decisions.figures(), *victim_searches.figures(), *first_decision.figures()]
    show("Decisions", decided)
    forecast = [*forecasts.figures(), *hard_forecasts.figures()]
    show("Forecasts", forecast, "AccaSim")
    loads = {engine: engine_load.measure(engine) for engine in ("muster", "kueue")}
    ours, peer = loads["muster"], loads["kueue"]
    jobs, all_jobs = engine_load.LATENCY_JOBS, engine_load.JOBS
    admission = [
        Figure(f"RayJob to Admitted, p50 of {jobs}", ours.p50_s, "s", peer=peer.p50_s),
        Figure(
            f"RayJob to Admitted, p99 of {jobs}",
            ours.p99_s,
            "s",
            limit=ADMISSION_P99_SECONDS_MAX,
            peer=peer.p99_s,
        ),
        Figure(f"CPU for {all_jobs} Workloads", ours.cpu_s, "s", peer=peer.cpu_s),
        Figure(f"RSS with {all_jobs} Workloads", ours.rss_mb, "MB", limit=RSS_MB_MAX, peer=peer.rss_mb),
    ]
    show("Admission (KubeRay stopped)", admission)
    sustained = sustained_load.figures()
    show("Many RayJobs (KubeRay stopped)", sustained)
    show(elastic.TITLE, elastic.figures(elastic.PLANNED))
    missed = [f.what for f in (*figures, *decided, *forecast, *admission, *sustained) if not f.met]
    print(f"missed: {', '.join(missed)}" if missed else "every target is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(carry_out("bench", main))
