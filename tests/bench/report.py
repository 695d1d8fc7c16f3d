"""Figures next to their limits or peers, and their table."""

from collections.abc import Sequence
from dataclasses import dataclass

from tools.toolchain.console import console, table


@dataclass(frozen=True)
class Figure:
    """`value` in `unit`; `limit` must not be exceeded, `peer` is the value of another engine."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    peer: float | None = None

    @property
    def met(self) -> bool:
        return self.limit is None or self.value <= self.limit

    def row(self) -> tuple[str, str, str, str, str]:
        limit = "" if self.limit is None else f"{self.limit:g} {self.unit}"
        peer = "" if self.peer is None else self._text(self.peer)
        against = self.limit if self.peer is None else self.peer
        ratio = "" if not against else f"{self.value / against:.2f}"
        return self.what, self._text(self.value) + ("" if self.met else " !"), limit, peer, ratio

    def _text(self, value: float) -> str:
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        return f"{number} {self.unit}".rstrip()


def show(title: str, figures: Sequence[Figure], peer: str = "Kueue") -> None:
    heads = ("figure", "value", "target", peer, "ratio")
    console().print(table(title, heads, [f.row() for f in figures]))
