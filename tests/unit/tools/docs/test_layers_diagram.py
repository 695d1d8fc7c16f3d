"""The diagrams of docs/architecture.md are those of the import contracts."""

from tools.docs.layers_diagram import PAGE, page_with_diagrams
from tools.toolchain.paths import CHECKOUT

PROJECT = """
[[tool.importlinter.contracts]]
name = "rooms"
type = "layers"
layers = ["a.top", "a.left | a.right", "a.bottom"]

[[tool.importlinter.contracts]]
name = "something else"
type = "forbidden"
"""


def test_page_is_up_to_date() -> None:
    page = PAGE.read_text()
    assert page == page_with_diagrams(page, (CHECKOUT / "pyproject.toml").read_text()), "run `make docs`"


def test_layers_become_a_flowchart_from_the_top_down() -> None:
    page = "before\n<!-- layers: written by make docs -->\nold\n<!-- end of layers -->\nafter\n"
    lines = page_with_diagrams(page, PROJECT).splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "Rooms." in lines
    assert "    a_top --> a_left & a_right" in lines
    assert "    a_left & a_right --> a_bottom" in lines
    assert "old" not in lines
