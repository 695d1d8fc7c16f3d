"""Types of parameters that are paths, so that completion knows them and tests find all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


class _PathType(click.ParamType[Any]):
    """A path; `convert_to` is `str` where it may be something else, such as `-` or the name of a stack."""

    name = "path"
    completion = "file"

    def __init__(self, convert_to: Callable[[str], Any] = Path) -> None:
        self._convert_to = convert_to

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":  # pathlib takes it for the current folder
            self.fail("expected a path; it is empty", param, ctx)
        return self._convert_to(value) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self.completion)]


class InputPath(_PathType):
    """A file or folder that is read, by the functions of muster.files."""


class OutputPath(_PathType):
    """A file that is written, by the functions of muster.files."""


class FolderPath(_PathType):
    """A folder that a process writes to."""

    completion = "dir"
