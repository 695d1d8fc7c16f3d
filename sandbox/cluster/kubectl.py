"""Runs kubectl on one cluster, for the sandbox's setup and tables."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.toolchain.steps import StepError

Object = Mapping[str, Any]
"""A Kubernetes object as JSON gives it."""

ERROR_CHARACTERS_MAX = 1000
FOLDER_SECONDS_MAX = 300.0
"""CRDs take a second, and minutes on a machine that does much else."""


@dataclass(frozen=True)
class Kubectl:
    """The executable and the kubeconfig that it uses."""

    executable: Path
    kubeconfig: Path

    @property
    def command(self) -> str:
        """The command that users type before `get pods`."""
        return f"{self.executable} --kubeconfig {self.kubeconfig}"

    def run(self, *arguments: str, stdin: str = "", timeout_seconds: float = 60.0) -> str:
        """Returns the command's output. Raises StepError with kubectl's error if it fails."""
        argv = [str(self.executable), "--kubeconfig", str(self.kubeconfig), *arguments]
        try:
            answer = subprocess.run(
                argv, input=stdin, capture_output=True, text=True, timeout=timeout_seconds
            )
        except subprocess.TimeoutExpired as error:
            raise StepError(f"kubectl {arguments[0]} took longer than {timeout_seconds:.0f} s") from error
        if answer.returncode != 0:
            error_text = answer.stderr.strip()[:ERROR_CHARACTERS_MAX]
            raise StepError(f"kubectl {' '.join(arguments[:4])}: {error_text}")
        return answer.stdout

    def objects(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """Returns all objects of a kind, in all namespaces unless the arguments have one."""
        where = () if "--namespace" in arguments else ("--all-namespaces",)
        listed = json.loads(self.run("get", kind, *where, *arguments, "-o", "json"))
        items: list[dict[str, Any]] = listed.get("items", [listed])
        return items

    def create(self, objects: Sequence[Object]) -> None:
        """Creates the objects, with their status if the kind allows that on creation (Node)."""
        self.run("create", "-f", "-", stdin=_list(objects))

    def replace(self, objects: Sequence[Object]) -> None:
        """Replaces the objects, and then their statuses."""
        self.run("replace", "-f", "-", stdin=_list(objects))
        self.run("replace", "--subresource=status", "-f", "-", stdin=_list(objects))

    def create_folder(self, folder: Path) -> None:
        """Creates the objects in a folder's files; only the server validates them, which is faster."""
        argv = ("create", "--validate=false", "-f", str(folder))
        self.run(*argv, timeout_seconds=FOLDER_SECONDS_MAX)


def _list(objects: Sequence[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
