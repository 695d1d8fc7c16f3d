"""The list of rules: docs/settings-rules.md is up to date, and each rule has a requirement and its source."""

import ast
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from settings import rules
from settings.rules import DOUBTS, RULES, registry
from settings.rules_reference import requirement, rules_reference

PAGE = Path(__file__).parents[4] / "docs" / "settings-rules.md"
# Rules of this stack's own parts, which no other source prescribes.
OWN = {
    "configured_keys_are_used",
    "credentials_are_kept_elsewhere",
    "engine_muster_has_its_controller",
    "forecast_names_exist",
    "images_are_built_for_google_cloud",
    "lists_have_each_value_once",
    "observability_is_google_clouds",
}


def test_page_of_rules_is_up_to_date() -> None:
    assert PAGE.read_text() == rules_reference(), "the rules have changed: run `make docs`"


@pytest.mark.parametrize("rule", [*RULES, *DOUBTS], ids=lambda rule: rule.__name__)
def test_every_rule_says_what_it_requires_and_its_source(rule: Callable[..., object]) -> None:
    text = requirement(rule)
    assert text.endswith(".")
    assert "(" in text or rule.__name__ in OWN, "name the source in parentheses"


def test_every_rule_is_checked() -> None:
    """A rule is a public function that yields findings; an unregistered one would never run."""
    public = set()
    for module in pkgutil.iter_modules(rules.__path__, "settings.rules."):
        if module.name == registry.__name__:
            continue
        tree = ast.parse(Path(str(import_module(module.name).__file__)).read_text())
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.returns)
        public |= {node.name for node in functions if _finds(node) and not node.name.startswith("_")}
    assert public == {rule.__name__ for rule in [*RULES, *DOUBTS]}


def _finds(function: ast.FunctionDef) -> bool:
    returns = ast.unparse(function.returns) if function.returns else ""
    takes = [argument.arg for argument in function.args.args]
    return returns in ("Iterator[Finding]", "Iterator[Doubt]") and takes == ["settings"]
