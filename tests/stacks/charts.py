"""Helm charts as folders: their rendered objects, and the values that they use."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]


@dataclass(frozen=True)
class ChartFolder:
    """A chart in its Go module, and the name of its component's release."""

    helm: Path
    path: Path
    name: str
    namespace: str

    def render(self, values: Mapping[str, Any]) -> list[Object]:
        argv = [str(self.helm), "template", self.name, str(self.path), "--namespace", self.namespace]
        answer = subprocess.run(
            [*argv, "--values", "-"], input=json.dumps(values), capture_output=True, text=True
        )
        assert answer.returncode == 0, answer.stderr
        return [manifest for manifest in yaml.load_all(answer.stdout, yaml.CSafeLoader) if manifest]

    def unknown(self, values: Mapping[str, Any]) -> list[str]:
        """Returns the values that the chart neither lists in its values.yaml nor reads in a template.

        Below a value that the chart leaves empty (a nodeSelector) or copies whole, every key is accepted.
        """
        listed = yaml.safe_load((self.path / "values.yaml").read_text())
        read = "\n".join(path.read_text() for path in (self.path / "templates").rglob("*.*"))
        return list(_unknown(values, listed, read, ""))


def _unknown(values: Mapping[str, Any], listed: Mapping[str, Any], read: str, prefix: str) -> Iterator[str]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        if key not in listed:
            above = re.escape(prefix.removesuffix("."))
            copied = above and re.search(rf"toYaml \.Values\.{above}(?![\w.])", read)
            if not copied and not re.search(rf"\.Values\.{re.escape(path)}\b", read):
                yield path
        elif isinstance(value, dict) and listed[key]:
            yield from _unknown(value, listed[key], read, f"{path}.")


def the(objects: Sequence[Object], kind: str, name: str) -> Object:
    """Returns the only object of this kind and name."""
    matches = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    assert len(matches) == 1, f"{len(matches)} of {kind}/{name}"
    return matches[0]
