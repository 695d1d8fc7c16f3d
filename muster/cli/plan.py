"""`muster plan`: what a change of a stack does to waiting times."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from muster.cli import configurations, inputs
from muster.cli.configurations import InputError, Side
from muster.forecast import futures
from muster.forecast.limits import exceeded
from muster.forecast.report.document import plan_document
from muster.forecast.report.markdown import markdown
from muster.forecast.report.tables import plan_tables, totals
from muster.forecast.results.comparison import Comparison, compare
from muster.forecast.results.outcome import Outcome

VIOLATED = 3
"""The exit code if a limit of the stack file is exceeded."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Replays one trace under two configurations, with the same random draws, and prints how waits differ."
        f" Exit code {VIOLATED}: a limit in forecast.limits of the stack file is exceeded."
    )
    parser.add_argument("--stack", metavar="NAME", help="stacks/Pulumi.NAME.yaml of this checkout, or a path")
    parser.add_argument("--base", metavar="REF", help="a git ref, such as main, or a stack file")
    parser.add_argument(
        "--change", metavar="PATCH", type=Path, help="a patch of the stack file to try, as git diff prints it"
    )
    parser.add_argument("--queues", metavar="PATH", type=Path, help="a file or folder of Kueue manifests")
    parser.add_argument("--base-queues", metavar="PATH", type=Path, help="manifests to compare with")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write a pull request comment")
    inputs.add_arguments(parser)


def carry_out(arguments: argparse.Namespace) -> int:
    return inputs.carry_out("plan", lambda: _plan(arguments))


def _plan(arguments: argparse.Namespace) -> int:
    inputs.writable(arguments.markdown, arguments.html)
    base, changed = _sides(arguments)
    trace = inputs.read_trace(arguments, changed.trace).trace
    results: list[list[Outcome]] = []
    for side in (base, changed):
        scenario, _ = inputs.scenario(arguments, side, trace)
        with inputs.progress(f"{side.configuration.name}: {len(scenario.jobs):,} jobs") as progress:
            results.append(futures.run(scenario, range(arguments.seeds), progress))
    before, after = paired(*results)
    comparison = compare(before, after)
    violations = list(exceeded(comparison, changed.limits))
    names = base.configuration.name, changed.configuration.name
    _report(arguments, names, before, after, comparison, violations)
    return VIOLATED if violations else 0


def _sides(arguments: argparse.Namespace) -> tuple[Side, Side]:
    name, base = arguments.stack, arguments.base
    if name and (base or arguments.change):
        changed = configurations.stack(name, patch=arguments.change)
        is_file = base is not None and base.endswith((".yaml", ".yml"))
        return configurations.stack(base if is_file else name, None if is_file else base), changed
    if arguments.queues and arguments.base_queues:
        paths = arguments.base_queues, arguments.queues
        before, after = (configurations.manifests_at(path, arguments.configuration) for path in paths)
        return before, after
    raise InputError(
        "no two configurations: give --stack NAME with --base REF or --change PATCH, or --queues PATH with "
        "--base-queues PATH"
    )


def paired(
    before: Sequence[Outcome], after: Sequence[Outcome]
) -> tuple[Sequence[Outcome], Sequence[Outcome]]:
    """Repeats the only future of a side without randomness, so that both have the same number."""
    count = max(len(before), len(after))
    return _repeated(before, count), _repeated(after, count)


def _repeated(side: Sequence[Outcome], count: int) -> Sequence[Outcome]:
    return [*side] * count if len(side) == 1 else side


def _report(
    arguments: argparse.Namespace,
    names: tuple[str, str],
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    comparison: Comparison,
    violations: Sequence[str],
) -> None:
    from muster.cli.screen import show

    base, changed = names
    summary = [f"before ({base}): {totals(before)}", f"after ({changed}): {totals(after)}"]
    tables = plan_tables(comparison)
    if arguments.json:
        print(json.dumps(plan_document(base, changed, comparison, violations), indent=2))
    else:
        print("\n".join(summary) + "\n")
        show(tables)
        for violation in violations:
            print(f"limit exceeded: {violation}")
    if arguments.markdown:
        lines = [*(f"- {line}" for line in summary), *(f"- **limit exceeded**: {v}" for v in violations)]
        arguments.markdown.write_text(markdown(f"Waiting times: {changed}", lines, tables))
    if arguments.html:
        from muster.forecast.page import Side, write_page

        write_page([Side(base, before), Side(changed, after)], arguments.html)
