"""Extracts the prose of a file, with the line of each word.

The prose of a Python file is its docstrings, comments and messages; that of other files with comments, their
comments. Code spans in backticks and placeholders are not prose: they are replaced by CODE.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CODE = "X"
SPAN = re.compile(r"`[^`\n]*`")
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(?:^|\s)#+ (.*)")
LITERAL = re.compile(r"^(?P<prefix>[a-zA-Z]*)(?P<quote>\"\"\"|'''|\"|')(?P<text>.*)(?P=quote)$", re.DOTALL)
MESSAGE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
"""A literal with two words in a row is a message; others are keys, paths and values."""
WORD = re.compile(r"[A-Za-z]{2,}")

_STARTS_STATEMENT = {
    tokenize.ENCODING,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.NL,
    tokenize.COMMENT,
}
_NESTING = {
    getattr(tokenize, "FSTRING_START", None): 1,  # since Python 3.12, an f-string is several tokens
    getattr(tokenize, "FSTRING_END", None): -1,
}


@dataclass(frozen=True)
class Line:
    """A line of prose; `summary`: it belongs to the first paragraph of a docstring."""

    number: int
    text: str
    summary: bool = False


def words(path: str, text: str) -> int:
    """Returns the number of words in the prose of a file."""
    return sum(len(WORD.findall(line.text)) for line in prose(path, text))


def prose(path: str, text: str) -> Iterator[Line]:
    """Yields the lines of prose of a file, in order."""
    match Path(path).suffix:
        case ".py":
            yield from _python(text)
        case ".md":
            yield from _numbered(1, SPAN.sub(CODE, FENCE.sub(_blank_lines, text)))
        case _:
            for number, line in enumerate(text.splitlines(), start=1):
                if comment := COMMENT.search(line):
                    yield Line(number, SPAN.sub(CODE, comment.group(1)))


def _blank_lines(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _numbered(first: int, text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), start=first):
        yield Line(number, line)


def _python(source: str) -> Iterator[Line]:
    tokens = list(_tokens(source))
    for before, token, after in zip(_before(tokens), tokens, [*tokens[1:], tokens[-1]], strict=True):
        number = token.start[0]
        if token.type == tokenize.COMMENT:
            yield Line(number, SPAN.sub(CODE, token.string.lstrip("#! ")))
        elif token.type == tokenize.STRING:
            text, formatted = _value(token.string)
            statement = before in _STARTS_STATEMENT and after.type == tokenize.NEWLINE
            yield from (_docstring if statement and not formatted else _message)(number, text)


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yields the tokens of a file, with each f-string as one."""
    depth, start = 0, (1, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if depth == 0:
            start = token.start
        change = _NESTING.get(token.type, 0)
        depth += change
        if depth == 0 and change:
            text = _between(source, start, token.end)
            yield tokenize.TokenInfo(tokenize.STRING, text, start, token.end, token.line)
        elif depth == 0:
            yield token


def _between(source: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    lines = source.splitlines(keepends=True)[start[0] - 1 : end[0]]
    lines[-1] = lines[-1][: end[1]]
    lines[0] = lines[0][start[1] :]
    return "".join(lines)


def _before(tokens: list[tokenize.TokenInfo]) -> Iterator[int]:
    """Yields the type of the token before each; a line break in brackets does not start a statement."""
    depth, previous = 0, tokenize.ENCODING
    for token in tokens:
        yield previous
        if token.type == tokenize.OP:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        in_brackets = depth > 0 and token.type in (tokenize.NL, tokenize.COMMENT)
        if not in_brackets:
            previous = token.type


def _value(literal: str) -> tuple[str, bool]:
    """Returns the text of a literal, and whether it is an f-string."""
    match = LITERAL.match(literal)
    assert match is not None, literal
    formatted = "f" in match.group("prefix").lower()
    return PLACEHOLDER.sub(CODE, match.group("text")) if formatted else match.group("text"), formatted


def _docstring(first: int, text: str) -> Iterator[Line]:
    summary = True
    for line in _numbered(first, SPAN.sub(CODE, text)):
        summary = summary and bool(line.text.strip())
        yield Line(line.number, line.text, summary)


def _message(first: int, text: str) -> Iterator[Line]:
    if MESSAGE.search(text):
        yield from _numbered(first, SPAN.sub(CODE, text))


def as_text(lines: Iterable[Line]) -> str:
    """Returns the lines as a text in which each has its number; all others are empty."""
    by_number: dict[int, list[str]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line.text.strip())
    last = max(by_number, default=0)
    return "".join(f"{'. '.join(by_number.get(number, ()))}\n" for number in range(1, last + 1))
