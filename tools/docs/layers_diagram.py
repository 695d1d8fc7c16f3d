"""Writes the diagrams of the import contracts in docs/architecture.md."""

import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tools.docs.sections import GeneratedSection
from tools.toolchain.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "architecture.md"
SECTION = GeneratedSection("<!-- layers: written by make docs -->", "<!-- end of layers -->")


def page_with_diagrams(page: str, project: str) -> str:
    """Returns the page with a diagram for each layers contract in `project`, the text of pyproject.toml."""
    contracts = tomllib.loads(project)["tool"]["importlinter"]["contracts"]
    diagrams = "\n\n".join(_diagram(c) for c in contracts if c["type"] == "layers")
    return SECTION.put(page, diagrams)


def write_diagrams() -> None:
    """Rewrites the diagrams of docs/architecture.md."""
    PAGE.write_text(page_with_diagrams(PAGE.read_text(), (CHECKOUT / "pyproject.toml").read_text()))


def _diagram(contract: Mapping[str, Any]) -> str:
    """Returns a Mermaid flowchart from the highest layer down, with the folders of a layer in one row."""
    layers = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    nodes = [f"    {_identifier(name)}[{name}]" for layer in layers for name in layer]
    lines = ["```mermaid", "flowchart TB", *nodes, *_edges(layers), "```"]
    return "\n".join([f"{_sentence(contract['name'])}", "", *lines])


def _edges(layers: list[list[str]]) -> Iterator[str]:
    for upper, lower in pairwise(layers):
        yield f"    {' & '.join(map(_identifier, upper))} --> {' & '.join(map(_identifier, lower))}"


def _identifier(module: str) -> str:
    return module.replace(".", "_")


def _sentence(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}."
