"""Builds tools from the pinned Go modules into the cache."""

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tools.bootstrap import exclusive
from tools.toolchain.build_runs import Builds, Command, Run, compilers, slots_here
from tools.toolchain.estimate import remaining_time
from tools.toolchain.golang import MODULES, Go, c_compiler, find_go
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import Screen, StepError, tail
from tools.toolchain.tools import Tool

COMPILERS = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
"""Collects garbage less often, as compilers and linkers are short-lived, up to a memory limit for each.
Saves a fifth of the CPU time (etcd v3.6.15: 172 s, 137 s). The user's environment has precedence."""


@dataclass(frozen=True)
class Receipt:
    """The facts about a build, which are written next to the built tool.

    Of a build of several tools, its duration and its CPU time are divided as estimated.
    """

    tool: str
    version: str
    seconds: float
    cpu_seconds: float
    cores: int
    bytes: int
    built: str
    go: str


def can_be_built(tool: Tool) -> bool:
    """Returns whether this machine has the compilers for a tool; Go itself is installed if necessary."""
    return not tool.cgo or c_compiler() is not None


def build_key(tool: Tool, sources: Sequence[bytes], system: str) -> str:
    """Returns the name of a build's cache folder, which depends on its sources, its flags and the machine.

    sources: go.mod and go.sum, which pin the modules, and Muster's own Go files.
    """
    digest = hashlib.sha256()
    cgo = ("cgo",) if tool.cgo else ()
    flags = [" ".join(tool.flags), tool.all_ldflags, system, *cgo]
    for part in (*sources, *(flag.encode() for flag in flags)):
        digest.update(len(part).to_bytes(8, "big") + part)
    return f"{tool.name}-{tool.version}-{digest.hexdigest()[:12]}"


def executable(tool: Tool) -> Path:
    """Returns the path in the cache of a built tool, which exists once it is built."""
    return _directory(tool) / tool.name


def _directory(tool: Tool) -> Path:
    module = MODULES / tool.module
    system = f"{platform.system()}-{platform.machine()}"
    files = [module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))]
    key = build_key(tool, [file.read_bytes() for file in files], system)
    return cache_directory() / "tools" / key


@dataclass(frozen=True)
class Build:
    """Tools of one module with the same flags: `go build` compiles the packages that they share once, and
    links one while it compiles for another."""

    tools: tuple[Tool, ...]

    @property
    def names(self) -> str:
        """The names of the tools."""
        return ", ".join(tool.name for tool in self.tools)

    @property
    def label(self) -> str:
        """A short name for progress lines."""
        first, *more = self.tools
        return f"{first.module} ({len(self.tools)} tools)" if more else first.name

    @property
    def cpu_seconds(self) -> int:
        """The estimated CPU time with an empty build cache."""
        return sum(tool.cpu_seconds for tool in self.tools)

    def file_of(self, tool: Tool) -> str:
        """Returns the name of the tool's executable in the output folder.

        `go build` names it after the last part of the package's path that is not a major version; only a
        single one can be named otherwise.
        """
        if self.tools == (tool,):
            return tool.name
        return [part for part in tool.package.split("/") if not re.fullmatch(r"v\d+", part)][-1]


def together(tools: Sequence[Tool]) -> list[Build]:
    """Returns the builds of these tools, the longest first, so that none of them runs alone at the end."""
    groups: dict[object, list[Tool]] = {}
    for tool in tools:
        groups.setdefault((tool.module, tool.flags, tool.all_ldflags, tool.cgo), []).append(tool)
    return sorted((Build(tuple(group)) for group in groups.values()), key=lambda build: -build.cpu_seconds)


def build_all(missing: Sequence[Tool], screen: Screen) -> dict[str, Receipt]:
    """Builds the tools into the cache; returns the receipts, without tools that another run built meanwhile.

    Raises StepError with the tools whose build fails.
    """
    go = find_go()
    folder = cache_directory() / "tools"
    receipts: dict[str, Receipt] = {}
    with exclusive(folder / "lock", "the tools"):
        for leftover in folder.glob("*.unfinished"):
            shutil.rmtree(leftover)  # of a killed run; the lock excludes other builds
        # Another run may have built some of them while this one waited for the lock.
        builds = together([tool for tool in missing if not executable(tool).exists()])
        if not builds:
            return receipts
        of_command = {build.tools[0].name: build for build in builds}
        slots = min(slots_here(), len(builds))
        runs = Builds([_command(build, go, slots) for build in builds], slots)
        screen.line(
            f"  builds: {', '.join(build.label for build in builds)}, {slots} at a time, with Go "
            f"{go.version}; {sum(build.cpu_seconds for build in builds)} s of CPU if nothing is cached"
        )

        def ended(run: Run, code: int) -> None:
            build = of_command[run.command.name]
            if code != 0:
                raise build_failure(build.names, run.command.log)
            receipts.update(_finish(build, go, run))
            screen.line(f"  built {build.names} in {run.seconds:.0f} s")

        try:
            with screen.activity(lambda elapsed: _progress(runs, elapsed)):
                runs.run(ended)
        finally:
            for leftover in folder.glob("*.unfinished"):
                shutil.rmtree(leftover)
    return receipts


def _progress(runs: Builds, elapsed: float) -> str:
    return f"  building {', '.join(runs.running)}: {elapsed:.0f} s, {remaining_time(runs.works(), elapsed)}"


def _output(build: Build) -> Path:
    return cache_directory() / "tools" / f"build-{build.tools[0].name}.unfinished"


def _command(build: Build, go: Go, slots: int) -> Command:
    first = build.tools[0]
    output = _output(build)
    output.mkdir()
    log = cache_directory() / "logs" / f"build-{first.name}.log"
    log.parent.mkdir(exist_ok=True)
    target = output if build.tools[1:] else output / first.name
    argv = [str(go.executable), "build", "-p", str(compilers(os.cpu_count() or 1, slots))]
    argv += ["-v", *first.flags, "-ldflags", first.all_ldflags, "-o", str(target)]
    packages = [tool.package for tool in build.tools]
    listing = [str(go.executable), "list", "-deps", *first.flags, *packages]
    environment = {**COMPILERS, **go.environment, "CGO_ENABLED": "1" if first.cgo else "0"}
    folder, estimated = MODULES / first.module, build.cpu_seconds
    return Command(first.name, build.label, [*argv, *packages], listing, folder, environment, log, estimated)


def _finish(build: Build, go: Go, run: Run) -> dict[str, Receipt]:
    """Moves the executables into the cache, each with a receipt."""
    receipts: dict[str, Receipt] = {}
    for tool in build.tools:
        directory = _directory(tool)
        unfinished = directory.with_name(directory.name + ".unfinished")
        unfinished.mkdir()
        (_output(build) / build.file_of(tool)).rename(unfinished / tool.name)
        share = tool.cpu_seconds / build.cpu_seconds
        receipts[tool.name] = _receipt(tool, go, unfinished, run.seconds * share, run.consumed * share)
        unfinished.rename(directory)
    return receipts


def _receipt(tool: Tool, go: Go, directory: Path, seconds: float, cpu: float) -> Receipt:
    receipt = Receipt(
        tool=tool.name,
        version=tool.version,
        seconds=round(seconds, 1),
        cpu_seconds=round(cpu, 1),
        cores=os.cpu_count() or 1,
        bytes=(directory / tool.name).stat().st_size,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        go=go.version,
    )
    (directory / "receipt.json").write_text(json.dumps(asdict(receipt), indent=2) + "\n")
    return receipt


def build_failure(names: str, log: Path) -> StepError:
    """Returns the error of a failed build of these tools, with the end of its log and advice."""
    output = tail(log)
    return StepError(f"{names} failed to build:\n{output}", log=log, try_this=advice_on_build(output))


def advice_on_build(output: str) -> str:
    """Returns advice for the end of a failed build's log."""
    advice_by_pattern = (
        (
            r"no space left",
            "free some disk: the builds need about 15 GB in Go's build cache (go env GOCACHE)",
        ),
        (r"requires go >=|invalid go version", "install a newer Go, or take the old one off PATH"),
        (
            r"checksum mismatch|SECURITY ERROR",
            "run go clean -modcache, then run this again; report the error if it persists",
        ),
        (
            r"dial tcp|no such host|proxyconnect|i/o timeout|TLS handshake|40[34] ",
            "make the Go module proxy reachable (go env GOPROXY), then run this again",
        ),
        (r"signal: killed|cannot allocate memory", "free some memory: a build needs about 4 GB"),
    )
    for pattern, advice in advice_by_pattern:
        if re.search(pattern, output):
            return advice
    return "read the log; finished builds are cached, so another run continues from here"
