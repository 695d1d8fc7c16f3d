"""`python -m muster.forecast.traces SPECIFICATION --seed N`: draws a synthetic trace and prints it as CSV."""

import argparse
import sys
from pathlib import Path

from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.forecast.traces import csv_rows, synthetic
from muster.forecast.traces.trace import TraceError


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m muster.forecast.traces", description=__doc__)
    parser.add_argument("specification", type=Path, help="YAML file with profiles of jobs and their arrivals")
    parser.add_argument("--seed", type=int, default=1, help="of all random numbers (default: %(default)s)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Generates a trace and prints it; returns the exit code."""
    arguments = parser().parse_args(argv)
    path: Path = arguments.specification
    try:
        specification = synthetic.from_yaml(read_text(path, "profiles of jobs in YAML"), str(path))
        trace = synthetic.generate(specification, arguments.seed)
    except (FileError, TraceError) as problem:
        print(problem, file=sys.stderr)
        return 1
    for line in csv_rows.write(trace.jobs):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
