"""Runs `python -m tools VERB`: commands for contributors."""

import argparse
import sys
from pkgutil import resolve_name

from tools.compiled_core import run_compiled
from tools.prose.check import prose
from tools.prose.same_code import same_code
from tools.testing.layers import FAST_TESTS, LAYERS, LINT
from tools.testing.run import nox, run_layers, run_together
from tools.toolchain.command import carry_out
from tools.toolchain.steps import StepError

KEYS = tuple(layer.key for layer in LAYERS)
CHORES = {
    "coverage": ("tools.chores:coverage", "branch coverage of muster/admission by its unit tests"),
    "docs": (
        "tools.docs.generate:docs",
        "write generated docs: references, diagrams, the deploying identity's roles",
    ),
    "fields": ("tools.docs.ray_fields:record", "record the fields of the pinned KubeRay's CRDs"),
    "types": ("tools.chores:types", "mypy, with a cache that outlives the checkout"),
    "lock": ("tools.chores:lock", "resolve the Python dependencies into the lock files"),
    "checksums": (
        "tools.toolchain.checksums:pin_checksums",
        "pin the checksums of the tools' official release files",
    ),
    "release": ("tools.release:release", "build wheel, archives, SBOM and checksums of HEAD into dist/"),
    "format": ("tools.chores:format_code", "format the code"),
}
"""Verbs without arguments: their function, imported when they run, as some import all components, and their
help."""


def main(arguments: list[str]) -> int:
    """Runs one verb; returns the exit code."""
    options = _parser().parse_args(arguments)
    return carry_out(options.verb, lambda: options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verb = verbs.add_parser("test", help="all test layers")
    verb.add_argument("layers", nargs="*", metavar="LAYER", help=f"only: {', '.join(KEYS)}")
    verb.set_defaults(run=_test)
    verb = verbs.add_parser("check", help="lint, types, contracts and the fast unit tests, in seconds")
    verb.set_defaults(run=lambda _options: run_layers([LINT, FAST_TESTS]))
    verb = verbs.add_parser("compiled", help="a module with the core compiled, if there is a C compiler")
    verb.add_argument("module", metavar="MODULE")
    verb.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    verb.set_defaults(run=lambda options: run_compiled(options.module, options.arguments))
    verb = verbs.add_parser("flakes", help="layers in random order on a busy machine, several times")
    verb.add_argument("arguments", nargs=argparse.REMAINDER, help="LAYER ... --times N --seed N")
    verb.set_defaults(run=_flakes)
    verb = verbs.add_parser("prose", help="English and names by room, next to the ceilings of each room")
    verb.add_argument("paths", nargs="*", metavar="PATH", help="list every place below these folders")
    verb.add_argument("--lower", action="store_true", help="lower the ceilings to the counts")
    verb.set_defaults(run=lambda options: prose(options.paths, options.lower))
    verb = verbs.add_parser("same-code", help="files whose code changed, beyond docstrings and comments")
    verb.add_argument("revision", metavar="REV", help="the commit to compare with, such as main")
    verb.set_defaults(run=lambda options: same_code(options.revision))
    for name, (function, says) in CHORES.items():
        verbs.add_parser(name, help=says).set_defaults(run=lambda _options, f=function: resolve_name(f)())
    return parser


def _test(options: argparse.Namespace) -> int:
    if unknown := set(options.layers) - set(KEYS):
        raise StepError(f"no test layer {sorted(unknown)}", try_this=f"one of {', '.join(KEYS)}")
    selected = options.layers or [layer.key for layer in LAYERS if not layer.on_demand]
    layers = [layer for layer in LAYERS if layer.key in selected]
    return run_layers(layers, selected=bool(options.layers))


def _flakes(options: argparse.Namespace) -> int:
    return run_together([nox("--sessions", "flakes", "--", *options.arguments)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
