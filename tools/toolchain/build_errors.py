"""Explains why a build failed."""

import re
from pathlib import Path

from tools.toolchain.steps import StepError, tail


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
