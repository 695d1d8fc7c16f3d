"""Names of Kueue's and Muster's APIs are written in one module."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAME = re.compile(r'"(?:(?:provreq\.)?kueue\.x-k8s\.io|muster\.dev)/(?!v1)[^"{*]')
HOME = "muster/objects/names.py"
"""Policies are not searched: they must not import Muster."""


def test_names_are_defined_once() -> None:
    assert NAME.search((ROOT / HOME).read_text())
    places = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("components", "drift", "muster", "package", "preview", "sandbox", "settings")
        for path in (ROOT / folder).rglob("*.py")
        if path != ROOT / HOME
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if NAME.search(line)
    ]
    assert places == [], f"import the name from {HOME}"
