"""Control characters in texts that tenants wrote."""

import pytest

from muster.cli.screen import show_whole
from muster.cli.terminal import visible
from muster.forecast.report.tables import Table

TEXTS = {
    "plain": ("waits for 3 gpus, größer", "waits for 3 gpus, größer"),
    "lines and tabs": ("a\n\tb", "a\n\tb"),
    "a color": ("\x1b[31mred", "^[[31mred"),
    "the title of the window": ("\x1b]0;gone\x07", "^[]0;gone^G"),
    "back to the begin of the line": ("done\rfail", "done^Mfail"),
    "the eight-bit form of an escape sequence": ("\x9b31m", "<9b>31m"),
    "delete": ("a\x7f", "a^?"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_control_characters_are_visible(name: str) -> None:
    text, shown = TEXTS[name]
    assert visible(text) == shown


def test_cells_of_tables_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_whole([Table("", ("NAME", "MESSAGE"), [("train", "\x1b[2Jgone")], numbers=2)])
    assert "^[[2Jgone" in (printed := capsys.readouterr().out)
    assert "\x1b" not in printed
