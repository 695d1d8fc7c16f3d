"""Creates random Ray objects as a tenant in a sandbox, with every field of their schema, and compares what
exists with what was counted and allowed."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from sandbox.cluster import kinds
from sandbox.cluster.kubectl import Kubectl
from sandbox.up import down, up
from settings.model.tenants.tenant import QUEUE_REQUIRED
from tests.field_fuzzing.fuzz import NAMESPACE, OBJECTS_A_ROUND, Failure, Fuzzer
from tests.field_fuzzing.shrink import shrunk
from tests.field_fuzzing.subjects import Subject
from tests.field_fuzzing.tenant import Tenant
from tools.docs import ray_fields
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen

FAILURES = CHECKOUT / ".muster" / "fuzz-fields"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-fields", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the objects (default 0)")
    parser.add_argument("--objects", type=int, default=60, help="how many (default 60)")
    parser.add_argument("--minutes", type=float, help="create objects for this time instead")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="repeat a failure from its file")
    parser.add_argument("--running", metavar="NAME", help="use this running sandbox")
    options = parser.parse_args(arguments)
    return carry_out("fuzz-fields", lambda: _fuzz(options))


@contextmanager
def fuzzing(state: RunState, kubectl: Kubectl, seed: int) -> Iterator[Fuzzer]:
    """Yields a fuzzer for a running sandbox, in which the team's Ray objects need a queue meanwhile."""
    (label,) = QUEUE_REQUIRED
    kubectl.run("label", "namespace", NAMESPACE, f"{label}={QUEUE_REQUIRED[label]}", "--overwrite")
    try:
        with (
            closing(kinds.connect(state.kubeconfig)) as admin,
            closing(Tenant(state.kubeconfig, NAMESPACE)) as tenant,
        ):
            yield Fuzzer(admin, tenant, ray_fields.schemas(), Random(seed))
    finally:
        kubectl.run("label", "namespace", NAMESPACE, f"{label}-")


def _fuzz(options: argparse.Namespace) -> int:
    state = RunState(options.running or "fuzz-fields")
    try:
        if not options.running:
            up(state, "muster", scenarios=(), fresh=True)
        kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
        with fuzzing(state, kubectl, options.seed) as fuzzer:
            if options.replay:
                failures = [f for f in [_replayed(fuzzer, json.loads(options.replay.read_text()))] if f]
            else:
                failures = _rounds(fuzzer, options.objects, options.minutes)
            _report(fuzzer, failures, options.seed)
    finally:
        if not options.running:
            down(state)
    return 1 if failures else 0


def _rounds(fuzzer: Fuzzer, objects: int, minutes: float | None) -> list[Failure]:
    failures: list[Failure] = []
    end = time.monotonic() + 60 * minutes if minutes else None
    number = 0
    while time.monotonic() < end if end else number * OBJECTS_A_ROUND < objects:
        number += 1
        for failure in fuzzer.round():
            print(f"round {number}: {failure.subject_name}: {failure.sentence}", flush=True)
            failures.append(shrunk(failure, lambda smaller: _fails(fuzzer, smaller)))
        print(f"round {number}: {_counts(fuzzer)}", flush=True)
    return failures


def _fails(fuzzer: Fuzzer, failure: Failure) -> bool:
    assert failure.subject is not None
    subject = failure.subject.renamed(fuzzer.new_name())
    return bool(fuzzer.trial([subject], {subject.name: failure.edits}))


def _replayed(fuzzer: Fuzzer, replay: Mapping[str, Any]) -> Failure | None:
    settings, edits = (tuple((p, v) for p, v in replay[key]) for key in ("settings", "edits"))
    subject = Subject(replay["base"], settings)
    failures = fuzzer.trial([subject], {subject.name: edits})
    return replace(failures[0], subject=subject) if failures else None


def _counts(fuzzer: Fuzzer) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(fuzzer.tally.counts.items()))


def _report(fuzzer: Fuzzer, failures: list[Failure], seed: int) -> None:
    for reason, count in fuzzer.tally.refusals.most_common():
        print(f"  refused {count}: {reason}")
    FAILURES.mkdir(parents=True, exist_ok=True)
    for index, failure in enumerate(failures):
        file = FAILURES / f"seed-{seed}-{index}.json"
        file.write_text(json.dumps(failure.replay(seed), indent=1) + "\n")
        print(f"{failure.subject_name}: {failure.sentence}\n  repeat it: make fuzz-fields REPLAY={file}")
    print(f"seed {seed}: {_counts(fuzzer)}; {len(failures)} wrong")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
