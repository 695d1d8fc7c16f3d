"""SDKs of packages that a program adds with `pulumi package add`: generated into its folder `sdks`."""

import json
import subprocess
import sys
from pathlib import Path

from preview.resources.refusals import RefusedError
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.steps import Screen

GENERATOR = "python-sdk"


def generate(schema: str, loader: str, folder: Path) -> None:
    """Writes the SDK of the package with this schema. `loader` is the address of the engine's schema loader.

    Builds the generator (tools/toolchain/modules/python-sdk) when it is needed for the first time.
    """
    generator = ensure_tools([GENERATOR], Screen(out=sys.stderr))[GENERATOR].path
    run = subprocess.run([generator, loader, folder], input=schema, capture_output=True, text=True)
    if run.returncode:
        raise RefusedError(f"the SDK of the package cannot be generated: {run.stderr.strip()}")
    _describe(folder, **{key: json.loads(schema)[key] for key in ("name", "version")})


def _describe(folder: Path, name: str, version: str) -> None:
    """Writes what an installation would: SDKs read their own version from it."""
    information = folder / f"{module(name)}-{version}.dist-info"
    information.mkdir()
    text = f"Metadata-Version: 2.1\nName: {module(name)}\nVersion: {version}\n"
    (information / "METADATA").write_text(text)


def module(package: str) -> str:
    """Returns the name of the module that a package's SDK is."""
    return f"pulumi_{package.replace('-', '_')}"


def folders(program: Path) -> list[str]:
    """Returns the folders from which a program imports the SDKs of added packages."""
    return [str(folder) for folder in sorted(program.glob("sdks/*")) if folder.is_dir()]
