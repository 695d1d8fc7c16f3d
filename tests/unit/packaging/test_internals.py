"""Private names of Pulumi's SDKs are used in one module for each SDK, which was read next to its version.

When `make lock` changes a version: compare the private code that the module uses or replaces with that of the
new version, then change the version here.
"""

import ast
from importlib.metadata import version
from pathlib import Path

import pytest

from tools.toolchain.paths import CHECKOUT

VERIFIED = {
    "pulumi": ("3.259.0", "preview/plugins/pulumi_internals.py"),
    "pulumi-policy": ("1.21.0", "policies/server.py"),
}
SOURCES = ("components", "drift", "muster", "package", "policies", "preview", "sandbox", "settings", "tools")
SDKS = tuple(package.replace("-", "_") for package in VERIFIED)


@pytest.mark.parametrize("package", VERIFIED)
def test_the_locked_version_is_the_verified_one(package: str) -> None:
    verified, module = VERIFIED[package]
    assert version(package) == verified, f"compare {module} with the private code of the new version"


def test_no_other_module_uses_private_names() -> None:
    users = {
        str(path.relative_to(CHECKOUT))
        for folder in SOURCES
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
        if private_names(path)
    }
    assert users == {module for _, module in VERIFIED.values()}


def private_names(path: Path) -> list[str]:
    """Returns the imports of private modules and names of the SDKs, and private attributes of SDK modules."""
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [name for node in imports for name in dotted(node) if name.split(".")[0] in SDKS]
    modules = {name.rpartition(".")[2] for name in names}
    attributes = [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    ]
    return [
        name
        for name in names + attributes
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    ]


def dotted(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Returns the full names that an import statement binds."""
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return [f"{prefix}{alias.name}" for alias in node.names]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from pulumi._types import x", ["pulumi._types.x"]),
        ("from pulumi.runtime import rpc\nrpc._f()", ["rpc._f"]),
        ("from pulumi.runtime import rpc\nrpc.f()", []),
        ("from click import _x", []),
        ("import pulumi\npulumi.__version__", []),
    ],
)
def test_private_names(text: str, names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(text)
    assert private_names(file) == names
