"""Builds tools from the pinned Go modules into the cache."""

import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tools.bootstrap import exclusive
from tools.toolchain.golang import MODULES, Go, c_compiler, find_go
from tools.toolchain.paths import cache_directory
from tools.toolchain.steps import Screen, StepError, tail
from tools.toolchain.tools import Tool


@dataclass(frozen=True)
class Receipt:
    """The facts about a build, which are written next to the built tool."""

    tool: str
    version: str
    seconds: float
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


def build_all(missing: Sequence[Tool], screen: Screen) -> dict[str, Receipt]:
    """Builds the tools into the cache; returns the receipts, without tools that another run built meanwhile.

    Raises StepError with the tool whose build fails.
    """
    go = find_go()
    receipts: dict[str, Receipt] = {}
    with exclusive(cache_directory() / "tools" / "lock", "the tools"):
        for leftover in (cache_directory() / "tools").glob("*.unfinished"):
            shutil.rmtree(leftover)  # of a killed run; the lock excludes other builds
        for number, tool in enumerate(missing, start=1):
            if executable(tool).exists():  # another run built it while this one waited for the lock
                continue
            place = f"  {tool.name} {tool.version} ({number} of {len(missing)})"
            receipt = _build(tool, go, screen, place)
            screen.line(f"{place}: built in {receipt.seconds:.0f} s, {receipt.bytes / 1e6:.0f} MB")
            receipts[tool.name] = receipt
    return receipts


def _build(tool: Tool, go: Go, screen: Screen, place: str) -> Receipt:
    directory = _directory(tool)
    unfinished = directory.with_name(directory.name + ".unfinished")
    unfinished.mkdir()
    log = cache_directory() / "logs" / f"build-{tool.name}.log"
    log.parent.mkdir(exist_ok=True)
    argv = [str(go.executable), "build", *tool.flags, "-ldflags", tool.all_ldflags]
    argv += ["-o", str(unfinished / tool.name), tool.package]
    expected = f"about {tool.build_seconds} s on 2 cores when nothing is cached"
    screen.line(f"{place}: building with Go {go.version}, {expected}")
    began = time.monotonic()
    try:
        with screen.activity(lambda elapsed: f"{place}: building for {elapsed:.0f} s, {expected}"):
            code = _run_build(argv, tool, go, log)
        if code != 0:
            raise _build_failure(tool, log)
        receipt = _receipt(tool, go, unfinished, time.monotonic() - began)
        unfinished.rename(directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return receipt


def _run_build(argv: list[str], tool: Tool, go: Go, log: Path) -> int:
    with log.open("w") as output:
        build = subprocess.Popen(
            argv,
            cwd=MODULES / tool.module,
            env={**go.environment, "CGO_ENABLED": "1" if tool.cgo else "0"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return build.wait()
        except BaseException:  # includes Ctrl-C: the build's compilers must not keep running
            os.killpg(build.pid, signal.SIGTERM)
            build.wait()
            raise


def _receipt(tool: Tool, go: Go, directory: Path, seconds: float) -> Receipt:
    receipt = Receipt(
        tool=tool.name,
        version=tool.version,
        seconds=round(seconds, 1),
        cores=os.cpu_count() or 1,
        bytes=(directory / tool.name).stat().st_size,
        built=datetime.now(UTC).isoformat(timespec="seconds"),
        go=go.version,
    )
    (directory / "receipt.json").write_text(json.dumps(asdict(receipt), indent=2) + "\n")
    return receipt


def _build_failure(tool: Tool, log: Path) -> StepError:
    output = tail(log)
    return StepError(
        f"{tool.name} {tool.version} does not build:\n{output}", log=log, try_this=advice_on_build(output)
    )


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
            "run go clean -modcache, then this again; if it persists, report it",
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
