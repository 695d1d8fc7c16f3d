"""Ends of attempts: the page has words and a color for each."""

import json
import re

from muster.forecast.page.page import ASSETS
from muster.forecast.results.outcome import End


def listed(file: str, name: str) -> list[str]:
    """Returns a list of strings of a script."""
    match = re.search(rf"const {name} = (\[.*?\]);", (ASSETS / file).read_text(), re.DOTALL)
    assert match is not None
    values: list[str] = json.loads(match[1])
    return values


def test_each_end_has_its_number() -> None:
    match = re.search(r"const END = \{(.*)\};", (ASSETS / "model.js").read_text())
    assert match is not None
    numbers = dict(re.findall(r"(\w+): (\d+)", match[1]))
    assert numbers == {end.name: f"{end.value}" for end in End}


def test_each_end_has_words_and_a_color_of_its_own() -> None:
    assert len(listed("model.js", "END_WORDS")) == len(End)
    colors = listed("theme.js", "END_COLORS")
    assert len(set(colors)) == len(End)
    styles = (ASSETS / "charts.css").read_text()
    assert [color for color in colors if f".legend .{color} {{" not in styles] == []
