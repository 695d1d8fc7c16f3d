"""Verbs: commands that report errors in one line and return their exit code."""

import os
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.files.errors import FileError
from muster.forecast.configuration import ConfigurationError
from muster.forecast.traces.trace import TraceError
from muster.kube.errors import ConfigError, RequestError, StatusError
from muster.live.observed import ObservationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

WRONG = 2
"""The exit code for invalid input, and for a cluster that cannot be queried."""
INTERRUPTED = 130


class InputError(ValueError):
    """Invalid input. The message names the problem, its place, and the expected input."""


ERRORS = (
    InputError,
    FileError,
    TraceError,
    ConfigurationError,
    ObservationError,
    StatusError,
    RequestError,
    ConfigError,
)


class Verb(click.Command):
    """A command that turns errors of the input and of the API server into one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the verb. Expected errors become one line, and an interrupt ends it without a traceback."""
        try:
            return super().invoke(ctx)
        except ERRORS as error:
            raise click.UsageError(message(error, self), ctx) from error
        except KeyboardInterrupt:
            print(f"\n{ctx.command_path}: interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


def message(error: Exception, command: click.Command) -> str:
    """Returns the message of an error for the user of a command."""
    match error:
        case StatusError():
            return f"the API server refused: {error.status.message}"
        case RequestError():
            return f"the API server does not answer: {error}"
        case ConfigError():
            takes_manifests = any(parameter.name == "queues" for parameter in command.params)
            return f"{error}; give --kubeconfig FILE{', or --queues PATH' if takes_manifests else ''}"
    return str(error)


def verb(help: str, epilog: str = "") -> Callable[[Function], Verb]:
    """Returns a decorator that turns a function, which returns an exit code, into a verb. click does not
    rewrap a paragraph of `help` after a line that holds only \\b."""
    return click.command(cls=Verb, help=help, epilog=epilog)


def options(name: str, kind: "type[DataclassInstance]", *declared: Decorator) -> Decorator:
    """Returns a decorator that declares options and passes them to the function as one argument: `name`, a
    dataclass with a field for each option."""
    own = [field.name for field in fields(kind)]

    def decorate(function: Function) -> Function:
        @wraps(function)
        def called(**arguments: Any) -> Any:
            packed = kind(**{option: arguments.pop(option) for option in own})
            return function(**arguments, **{name: packed})

        decorated: Function = called
        for declare in reversed(declared):
            decorated = declare(decorated)
        return decorated

    return decorate


def exclusive(**options: object) -> None:
    """Rejects options that are mutually exclusive. Raises: click.UsageError."""
    used = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if len(used) > 1:
        raise click.UsageError(f"{used[0]} and {used[1]} are mutually exclusive; give one of them")


def parsed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Returns an option type that calls `parse`; the messages of its ValueErrors are shown unchanged."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
        except RecursionError as error:
            raise click.BadParameter("it is nested too deeply") from error

    return convert
