"""Writes preview/plugins/gcp_replacements.json from the schema of the locked pulumi-gcp.

A property with `willReplaceOnChanges` recreates its resource. The schema lists the properties of a resource
as `inputProperties`, and those of the objects in it as `types`
(https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/).
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import Screen, StepError

FILE = CHECKOUT / "preview" / "plugins" / "gcp_replacements.json"
PACKAGE = "pulumi-gcp"
TYPE = "#/types/"

Schema = Mapping[str, Any]


def lock_replacements() -> None:
    """Writes the file if it is of another version than the lock. Raises: StepError."""
    version = locked_version()
    if json.loads(FILE.read_text())["version"] == version:
        return
    document = {
        "package": PACKAGE,
        "version": version,
        "source": f"pulumi package get-schema gcp@{version}",
        "replaces": replacements(_download(version)),
    }
    FILE.write_text(json.dumps(document, indent=1) + "\n")


def locked_version() -> str:
    """Returns the version of pulumi-gcp in requirements/all.lock."""
    text = (CHECKOUT / "requirements" / "all.lock").read_text()
    match = re.search(rf"^{PACKAGE}==([\w.]+)", text, re.MULTILINE)
    assert match, f"requirements/all.lock must pin {PACKAGE}"
    return match[1]


def replacements(schema: Schema) -> dict[str, list[str]]:
    """Returns the properties of each type whose change recreates it, as paths.

    A path covers the property and all below it; one with `#` covers adding and removing the property only.
    """
    paths = {
        token: sorted(_paths(resource.get("inputProperties", {}), schema["types"], ()))
        for token, resource in schema["resources"].items()
    }
    return {token: marked for token, marked in sorted(paths.items()) if marked}


def _paths(properties: Schema, types: Schema, inside: tuple[str, ...]) -> Iterator[str]:
    """Yields the paths below an object; `inside` are the types around it, as a type may contain itself."""
    for name, definition in properties.items():
        marked, token = definition.get("willReplaceOnChanges", False), _type(definition)
        if token is None or token in inside:
            yield from [name] if marked else []
            continue
        inner = types[token].get("properties", {})
        below = list(_paths(inner, types, (*inside, token)))
        if marked and set(inner) <= set(below):
            yield name
        else:
            yield from [f"{name}#"] if marked else []
            yield from (f"{name}.{path}" for path in below)


def _type(definition: Schema) -> str | None:
    """Returns the object type of a property, or of the entries of its list or map."""
    here: Any = definition
    while isinstance(here, Mapping):
        if (reference := here.get("$ref", "")).startswith(TYPE):
            return str(reference).removeprefix(TYPE)
        here = here.get("items") or here.get("additionalProperties")
    return None


def _download(version: str) -> Schema:
    """Returns the provider's schema. The CLI downloads the provider, some 100 MB, into a temporary folder."""
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    with TemporaryDirectory() as home:
        command = [str(pulumi), "package", "get-schema", f"gcp@{version}"]
        ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PULUMI_HOME": home})
    if ran.returncode:
        raise StepError(
            f"the schema of {PACKAGE} {version} cannot be read: {ran.stderr.strip()}",
            try_this="run `make lock` again where get.pulumi.com or github.com can be reached",
        )
    schema: Schema = json.loads(ran.stdout)
    return schema
