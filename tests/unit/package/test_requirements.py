"""Tests of the requirements of the package, where Pulumi's own language host installs it."""

import ast
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
OWN = ("package", "components", "settings")


def imported() -> set[str]:
    """Returns the top-level modules that the package imports at any time, also through `muster`; imports for
    type checkers do not run."""
    modules: set[str] = set()
    files = [file for folder in OWN for file in (CHECKOUT / folder).rglob("*.py")]
    for file in files:
        for node in ast.walk(_Run().visit(ast.parse(file.read_text()))):
            if isinstance(node, ast.ImportFrom):
                names = {str(node.module)}
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            else:
                continue
            files += {_file(name) for name in names if name.startswith("muster.")} - {*files}
            modules |= {name.partition(".")[0] for name in names}
    return modules - {*sys.stdlib_module_names, *OWN, "muster"}


class _Run(ast.NodeTransformer):
    """Removes the blocks `if TYPE_CHECKING:`."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _file(module: str) -> Path:
    module_file = CHECKOUT.joinpath(*module.split(".")).with_suffix(".py")
    return module_file if module_file.exists() else module_file.with_suffix("") / "__init__.py"


def test_requirements_are_what_the_package_imports_in_the_locked_versions() -> None:
    by_module = packages_distributions()
    needed = {by_module[name][0] for name in imported() - {"pydantic_core"}}  # pydantic pins it
    pins = (CHECKOUT / "package" / "requirements.txt").read_text().splitlines()
    named = {line.lower().replace("_", "-") for line in pins if not line.startswith("#")}
    assert named == {f"{name}=={version(name)}".lower().replace("_", "-") for name in needed}
