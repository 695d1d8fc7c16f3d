"""Imports only the modules of Pulumi's SDK for Google Cloud that a program uses.

Each package of the SDK imports all of its modules, 285 of `pulumi_gcp.compute`, which takes a fifth of a
preview. Here a package imports the module of a class when the class is asked for.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

SDK = "pulumi_gcp"
INPUTS = "_inputs"
"""The module of a package with the types of its resources' arguments."""


def install() -> None:
    """Imports packages of the SDK in this way, until this process ends."""
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.rpartition(".")[0] != SDK:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and spec.submodule_search_locations:
            spec.loader = _Loader(spec.loader, Path(spec.submodule_search_locations[0]))
        return spec


class _Loader(Loader):
    """Loads a package without its modules; `whole` loads all of it."""

    def __init__(self, whole: Loader, folder: Path) -> None:
        self._whole, self._folder = whole, folder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._whole.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = _importer(module, self._whole, self._folder)


def _importer(package: ModuleType, whole: Loader, folder: Path) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a package, which imports the module that has a name."""
    modules = {_spelled(path.stem): path.stem for path in folder.iterdir() if path.suffix == ".py"}

    def of_package(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for module in (modules.get(_spelled(name)), INPUTS):
            if module == name:
                return import_module(f"{package.__name__}.{name}")
            if module in modules.values():
                members = vars(import_module(f"{package.__name__}.{module}"))
                if name in members:
                    vars(package)[name] = members[name]
                    return members[name]
        del vars(package)["__getattr__"]
        whole.exec_module(package)
        return getattr(package, name)

    return of_package


def _spelled(name: str) -> str:
    """Returns what the names of a class and its module, `WebIamMember` and `web_iam_member`, share."""
    return name.replace("_", "").lower()
