"""Formats a change of a file as a patch that `git apply` accepts."""

import subprocess
from difflib import unified_diff
from pathlib import Path

WITHOUT_LINE_END = "\\ No newline at end of file\n"


def patch(path: str, before: str, after: str) -> str:
    """Returns the unified diff of a file; empty if nothing changes. `path` is relative to the top folder of
    the repository."""
    # Not splitlines: the only line end for git is "\n".
    old, new = (text.split("\n") for text in (before, after))
    lines = unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}")
    text = "".join(line if line.endswith("\n") else f"{line}\n{WITHOUT_LINE_END}" for line in lines)
    return f"diff --git a/{path} b/{path}\n{text}" if text else ""


def _lines(parts: list[str]) -> list[str]:
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def path_in_repository(file: Path) -> str:
    """Returns the path relative to the top of its git repository; the file's name if there is none."""
    completed = subprocess.run(
        ["git", "-C", str(file.resolve().parent), "rev-parse", "--show-prefix"],
        capture_output=True,
        text=True,
        check=False,
    )
    return (completed.stdout.strip() if completed.returncode == 0 else "") + file.name
