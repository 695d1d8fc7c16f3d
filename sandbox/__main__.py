"""`python -m sandbox VERB`: what the make targets run. Each verb has its own --help."""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from sandbox import chores, testing
from sandbox.drift import drift
from sandbox.kubectl import Kubectl
from sandbox.paths import RunState, cache_directory
from sandbox.previews import preview
from sandbox.processes import Processes
from sandbox.status import console, process_table, show, table
from sandbox.steps import Screen, StepError
from sandbox.toolchain import ensure_tools
from sandbox.tools import TOOLS, tools_for
from sandbox.up import ENGINES, down, up


def main(arguments: list[str]) -> int:
    """Runs one verb; returns the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except StepError as error:
        print(f"{options.verb} failed\n{error.explain()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        left = "; what was started runs until: make down" if options.verb == "up" else ""
        print(f"\n{options.verb}: interrupted{left}", file=sys.stderr)
        return 130
    return code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=(__doc__ or ""))
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--name", type=_state, default=RunState(), dest="state", help="which sandbox (local)")
    engine = argparse.ArgumentParser(add_help=False)
    engine.add_argument("--engine", choices=ENGINES, default="muster", help="what admits gangs (muster)")

    verb = verbs.add_parser("up", parents=[named, engine], help="bring everything up and run the scenario")
    verb.add_argument("--no-scenario", action="store_true", help="leave the environment empty of jobs")
    verb.set_defaults(run=_up)
    verb = verbs.add_parser("down", parents=[named], help="stop everything, leave nothing running")
    verb.set_defaults(run=_down)
    verb = verbs.add_parser("status", parents=[named], help="queues, workloads, nodes, processes")
    verb.set_defaults(run=_status)
    verb = verbs.add_parser("drift", parents=[named], help="what was changed by hand")
    verb.add_argument("--mend", action="store_true", help="undo it")
    verb.set_defaults(run=lambda options: drift(options.state, options.mend))
    verb = verbs.add_parser("kubectl", parents=[named], help="kubectl against the sandbox")
    verb.add_argument("arguments", nargs=argparse.REMAINDER, help="as for kubectl")
    verb.set_defaults(run=_kubectl)
    verb = verbs.add_parser("tools", parents=[engine], help="find or build the tools, and list them")
    verb.add_argument("--all", action="store_true", help="those of every engine")
    verb.set_defaults(run=_tools)
    verb = verbs.add_parser("test", help="every layer of the tests")
    verb.add_argument("layers", nargs="*", metavar="LAYER", help=f"only: {', '.join(testing.KEYS)}")
    verb.set_defaults(run=_test)
    verb = verbs.add_parser("preview", help="what a stack would become, offline")
    verb.add_argument("stack", help="a stack of stacks/, for example: dev")
    verb.add_argument("--since", metavar="REF", help="compare with this git ref, as if that were up")
    verb.add_argument("--markdown", type=Path, metavar="FILE", help="write it as a comment there too")
    verb.set_defaults(run=lambda options: preview(options.stack, options.since, options.markdown))
    verb = verbs.add_parser("conformance", help="does the core decide as Kueue does?")
    for option, says in chores.CONFORMANCE_OPTIONS.items():
        verb.add_argument(option, help=says)
    verb.set_defaults(run=lambda options: chores.conformance(vars(options)))
    verb = verbs.add_parser("mutants", help="do the tests notice changes of the core and the controller?")
    for option, says in chores.MUTANTS_OPTIONS.items():
        verb.add_argument(option, help=says)
    verb.set_defaults(run=lambda options: chores.mutants(vars(options)))
    verb = verbs.add_parser("fuzz", help="random histories in the simulation; what breaks is shortened")
    for option, says in chores.FUZZ_OPTIONS.items():
        verb.add_argument(option, help=says)
    verb.set_defaults(run=lambda options: chores.fuzz(vars(options)))
    verb = verbs.add_parser("storm", help="everything that fails in production, on a real API server")
    for option, says in chores.STORM_OPTIONS.items():
        verb.add_argument(option, help=says)
    verb.set_defaults(run=lambda options: chores.storm(vars(options)))
    for name, chore, says in chores.CHORES:
        verbs.add_parser(name, help=says).set_defaults(run=lambda _options, chore=chore: chore())
    return parser


def _state(name: str) -> RunState:
    try:
        return RunState(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _up(options: argparse.Namespace) -> int:
    up(options.state, options.engine, with_scenario=not options.no_scenario)
    return 0


def _down(options: argparse.Namespace) -> int:
    down(options.state)
    print(f"sandbox {options.state.name}: nothing is running; logs are kept in {options.state.logs}")
    return 0


def _status(options: argparse.Namespace) -> int:
    screen, processes = console(), Processes(options.state)
    if not options.state.kubeconfig.exists():
        raise StepError(f"sandbox {options.state.name} is not up", try_this="make up")
    try:
        show(_admin(options.state), screen)
    finally:
        screen.print(process_table(processes))
    return 0


def _kubectl(options: argparse.Namespace) -> int:
    kubectl = _admin(options.state)
    argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), *options.arguments]
    os.execv(argv[0], argv)


def _admin(state: RunState) -> Kubectl:
    return Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)


def _tools(options: argparse.Namespace) -> int:
    names = tuple(TOOLS) if options.all else tools_for(options.engine)
    found = ensure_tools(names, Screen()).values()
    rows = [(f.tool.name, f.tool.version, f.source, f"{f.seconds:.0f} s") for f in found]
    title = f"Tools (cache: {cache_directory() / 'tools'})"
    console().print(table(title, ("tool", "version", "from", "took"), rows))
    return 0


def _test(options: argparse.Namespace) -> int:
    if unknown := set(options.layers) - set(testing.KEYS):
        raise StepError(f"no test layer {sorted(unknown)}", try_this=f"one of {', '.join(testing.KEYS)}")
    chosen = [layer for layer in testing.LAYERS if not options.layers or layer.key in options.layers]
    return testing.run_layers(chosen, sys.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
