"""Writes docs/cli.md: the verbs of `muster` and their options, from the declarations of the commands."""

from collections.abc import Iterator

import click

from muster.cli.main import muster

HEAD = """# Command line

Written by `make docs` from the commands. `pip install .[forecast]` installs `muster`; kubectl also runs it as
`kubectl muster` if it is on the PATH. `muster VERB --help` prints the section of a verb,
`muster --version` the version.

| exit code | meaning |
|---|---|
| 0 | success |
| 2 | invalid input, or the cluster cannot be queried: one line on standard error has the reason |
| 130 | interrupted |

Other codes are specific to a verb.

## Completion

| shell | line of its start-up file |
|---|---|
| bash (`~/.bashrc`) | `eval "$(_MUSTER_COMPLETE=bash_source muster)"` |
| zsh (`~/.zshrc`) | `eval "$(_MUSTER_COMPLETE=zsh_source muster)"` |
| fish (`~/.config/fish/completions/muster.fish`) | `_MUSTER_COMPLETE=fish_source muster \\| source` |

kubectl's own completion covers `kubectl muster`: it runs `kubectl_complete-muster`, which is also installed.
"""
VERBATIM = "\b"
"""Click does not wrap a paragraph that begins with this line."""


def reference() -> str:
    """Returns the page as Markdown."""
    context = click.Context(muster, info_name="muster", **muster.context_settings)
    return HEAD + "".join(f"\n{section}" for section in _sections(context))


def _sections(group: click.Context) -> Iterator[str]:
    for name in muster.list_commands(group):
        command = muster.get_command(group, name)
        assert command is not None, "every verb has a command"
        context = click.Context(command, group, info_name=name, **command.context_settings)
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        parts = [f"## muster {name}", f"```\n{usage}\n```", *_prose(command.help), _options(context)]
        yield "\n\n".join([*parts, *_prose(command.epilog)]) + "\n"


def _prose(text: str | None) -> Iterator[str]:
    """Yields the paragraphs; a verbatim paragraph becomes a code block."""
    for paragraph in (text or "").strip().split("\n\n"):
        block = paragraph.removeprefix(f"{VERBATIM}\n")
        if block != paragraph:
            yield f"```\n{block.strip()}\n```"
        elif paragraph:
            yield " ".join(paragraph.split())


def _options(context: click.Context) -> str:
    records = (param.get_help_record(context) for param in context.command.get_params(context))
    rows = [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in filter(None, records)]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
