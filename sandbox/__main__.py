"""`python -m sandbox VERB`: a complete environment on this machine. Each verb has its own --help."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sandbox.apply import apply
from sandbox.cluster.kubectl import Kubectl
from sandbox.drift import drift
from sandbox.realnodes.environment import PODS
from sandbox.running import engine_of, has_real_nodes
from sandbox.scenario import ADMITTING, ENGINES, chosen, scenario
from sandbox.shell import exports
from sandbox.status import status
from sandbox.up import down, up
from sandbox.up_real import chosen_on_real_nodes, scenarios_on_real_nodes, up_real
from tools.toolchain.build import can_be_built
from tools.toolchain.command import carry_out, sandbox_named
from tools.toolchain.console import console, table
from tools.toolchain.ensure import ensure_tools, find_tool
from tools.toolchain.paths import DEFAULTS, NAME_VARIABLE, RunState, cache_directory
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS, tools_for


def main(arguments: list[str]) -> int:
    """Runs one verb; returns the exit code."""
    options = _parser().parse_args(arguments)
    note = f"; its processes run until: {options.state.command('down')}" if options.verb == "up" else ""
    return carry_out(options.verb, lambda: options.run(options), still_running=note)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=(__doc__ or ""))
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument(
        "--name",
        type=sandbox_named,
        default=os.environ.get(NAME_VARIABLE, DEFAULTS["NAME"]),
        dest="state",
        help=f"the name of the sandbox ({DEFAULTS['NAME']}, or ${NAME_VARIABLE})",
    )
    engine = argparse.ArgumentParser(add_help=False)
    engine.add_argument(
        "--engine", choices=ENGINES, default="muster", help="the engine that admits gangs (muster)"
    )

    verb = verbs.add_parser("up", parents=[named, engine], help="create the sandbox and play the scenarios")
    verb.add_argument("--fresh", action="store_true", help="replace a running sandbox; its jobs are lost")
    verb.add_argument(
        "--ray",
        choices=("simulated", "real"),
        default="simulated",
        help="real: a local Ray executes the jobs, one of which is preempted and resumes",
    )
    verb.add_argument(
        "--nodes",
        choices=("simulated", "real"),
        default="simulated",
        help="real: kubelets run all pods; needs root and Debian or Ubuntu",
    )
    which = verb.add_mutually_exclusive_group()
    which.add_argument("--scenario", metavar="NAME", help="play only this scenario")
    which.add_argument("--no-scenario", action="store_true", help="submit no jobs")
    verb.set_defaults(run=_up)
    verb = verbs.add_parser("apply", parents=[named], help="deploy the current stack file")
    verb.set_defaults(run=_apply)
    verb = verbs.add_parser("scenario", parents=[named], help="play the scenarios again")
    verb.add_argument("--scenario", metavar="NAME", help="play only this scenario")
    verb.set_defaults(run=_scenario)
    verb = verbs.add_parser(
        "env",
        parents=[named],
        help="print commands for a shell to evaluate, so that kubectl uses the sandbox",
    )
    verb.set_defaults(run=_env)
    verb = verbs.add_parser("logs", parents=[named], help="print the log of one process")
    verb.add_argument("--process", metavar="NAME", help="the process, as named in status")
    verb.add_argument("--follow", action="store_true", help="follow the log until Ctrl-C")
    verb.add_argument("--lines", type=int, default=100, help="number of last lines (100)")
    verb.set_defaults(run=lambda o: logs(o.state, o.process, o.follow, o.lines))
    verb = verbs.add_parser("down", parents=[named], help="stop the sandbox and all its processes")
    verb.set_defaults(run=_down)
    verb = verbs.add_parser("status", parents=[named], help="show queues, workloads, nodes and processes")
    verb.set_defaults(run=_status)
    verb = verbs.add_parser("drift", parents=[named], help="show changes made by hand")
    verb.add_argument("--fix", action="store_true", help="revert them")
    verb.add_argument("--json", type=Path, metavar="FILE", help="also write them to FILE")
    verb.set_defaults(run=lambda options: drift(options.state, options.fix, options.json))
    verb = verbs.add_parser("kubectl", parents=[named], help="run kubectl in the sandbox")
    verb.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of kubectl")
    verb.set_defaults(run=_kubectl)
    verb = verbs.add_parser("tools", parents=[engine], help="find or build the tools, and list them")
    verb.add_argument("--all", action="store_true", help="the tools of all engines")
    verb.set_defaults(run=_tools)
    return parser


def _up(options: argparse.Namespace) -> int:
    if options.nodes == "real":
        names = () if options.no_scenario else chosen_on_real_nodes(options.engine, options.scenario)
        real_ray = options.ray == "real"
        up_real(options.state, options.engine, names, fresh=options.fresh, real_ray=real_ray)
        return 0
    named = chosen(options.engine, options.scenario) if options.scenario else None
    scenarios = () if options.no_scenario else named
    up(options.state, options.engine, scenarios, fresh=options.fresh, real_ray=options.ray == "real")
    return 0


def _apply(options: argparse.Namespace) -> int:
    apply(options.state)
    return 0


def _scenario(options: argparse.Namespace) -> int:
    if has_real_nodes(options.state):
        scenarios_on_real_nodes(options.state, options.scenario)
    else:
        scenario(options.state, options.scenario)
    return 0


def _env(options: argparse.Namespace) -> int:
    print(exports(options.state))
    return 0


def _down(options: argparse.Namespace) -> int:
    down(options.state)
    print(f"sandbox {options.state.name}: nothing is running; logs are kept in {options.state.logs}")
    return 0


def _status(options: argparse.Namespace) -> int:
    return status(options.state)


def _kubectl(options: argparse.Namespace) -> int:
    _exec_kubectl(options.state, options.arguments)


def _exec_kubectl(state: RunState, arguments: Sequence[str]) -> NoReturn:
    kubectl = _admin(state)
    argv = [str(kubectl.executable), "--kubeconfig", str(kubectl.kubeconfig), *arguments]
    os.execv(argv[0], argv)


def _admin(state: RunState) -> Kubectl:
    return Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)


def _tools(options: argparse.Namespace) -> int:
    names = tuple(TOOLS) if options.all else tools_for(options.engine)
    unbuildable = [name for name in names if find_tool(TOOLS[name]) is None and not can_be_built(TOOLS[name])]
    ready = ensure_tools([name for name in names if name not in unbuildable], Screen()).values()
    rows: list[tuple[str, ...]] = [
        (f.tool.name, f.tool.version, f.source, f"{f.seconds:.0f} s") for f in ready
    ]
    rows += [(name, TOOLS[name].version, "skipped: needs a C compiler", "") for name in unbuildable]
    title = f"Tools (cache: {cache_directory() / 'tools'})"
    console().print(table(title, ("tool", "version", "from", "took"), rows))
    return 0


def logs(state: RunState, process: str | None, follow: bool, lines: int) -> int:
    """Prints the end of a process's log, by default the engine's; with `follow`, continues until Ctrl-C.

    Raises StepError with the names of existing logs if the process has none.
    """
    name = process or ADMITTING[engine_of(state)][0]
    if has_real_nodes(state) and (selector := PODS.get(name)) is not None:
        arguments = ["logs", *selector, "--prefix", f"--tail={lines}", *(["--follow"] if follow else [])]
        _exec_kubectl(state, arguments)
    log = state.log(name)
    if not log.exists():
        names = sorted(path.stem for path in state.logs.glob("*.log") if path.exists())
        choice = f"; choose one of {', '.join(names)}" if names else ""
        remedy = state.command("logs", PROCESS=names[0]) if names else state.command("up")
        raise StepError(f"sandbox {state.name} has no log of {log.stem!r}{choice}", try_this=remedy)
    # -F: follows the new log after a restart of the process
    os.execvp("tail", ["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
