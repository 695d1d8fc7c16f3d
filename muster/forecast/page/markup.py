"""HTML elements with escaped text and attributes."""

import html
from collections.abc import Iterable


class Markup(str):
    """HTML that is already escaped."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | None) -> Markup:
    """Returns an element. Children are escaped unless they are Markup; attributes that are None are omitted.

    In attribute names, `_` becomes `-`; a trailing `_` avoids Python's keywords.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(children: Iterable[str]) -> Markup:
    """Returns the concatenated children, escaped unless they are Markup."""
    return Markup("".join(c if isinstance(c, Markup) else html.escape(c) for c in children))


ARROW = element(
    "svg",
    element("path", d="M1 6h12M9 2l4 4-4 4"),
    viewBox="0 0 14 12",
    class_="arrow",
    role="img",
    aria_label="to",
)
"""An arrow to the right, which some fonts lack."""
