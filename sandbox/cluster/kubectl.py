"""kubectl against one cluster, for the sandbox's own set-up and its tables."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.toolchain.steps import StepError

Object = Mapping[str, Any]
"""A Kubernetes object as JSON gives it."""

ERROR_CHARACTERS_MAX = 1000


@dataclass(frozen=True)
class Kubectl:
    """The executable and the kubeconfig it acts by."""

    executable: Path
    kubeconfig: Path

    @property
    def command(self) -> str:
        """What a user types before `get pods`."""
        return f"{self.executable} --kubeconfig {self.kubeconfig}"

    def run(self, *arguments: str, given: str = "", timeout_seconds: float = 60.0) -> str:
        """The command's output. Raises StepError with what kubectl said when it fails."""
        argv = [str(self.executable), "--kubeconfig", str(self.kubeconfig), *arguments]
        try:
            answer = subprocess.run(
                argv, input=given, capture_output=True, text=True, timeout=timeout_seconds
            )
        except subprocess.TimeoutExpired as error:
            raise StepError(f"kubectl {arguments[0]} took longer than {timeout_seconds:.0f} s") from error
        if answer.returncode != 0:
            said = answer.stderr.strip()[:ERROR_CHARACTERS_MAX]
            raise StepError(f"kubectl {' '.join(arguments[:4])}: {said}")
        return answer.stdout

    def objects(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """Every object of a kind, in all namespaces unless the arguments say otherwise."""
        where = () if "--namespace" in arguments else ("--all-namespaces",)
        listed = json.loads(self.run("get", kind, *where, *arguments, "-o", "json"))
        items: list[dict[str, Any]] = listed.get("items", [listed])
        return items

    def create(self, objects: Sequence[Object]) -> None:
        """Creates the objects, status included where the kind takes it on creation (Node)."""
        self.run("create", "-f", "-", given=_list(objects))

    def replace(self, objects: Sequence[Object]) -> None:
        """Replaces the objects, and then their statuses."""
        self.run("replace", "-f", "-", given=_list(objects))
        self.run("replace", "--subresource=status", "-f", "-", given=_list(objects))

    def create_folder(self, folder: Path) -> None:
        """Creates what every file of a folder holds; the server alone validates, which is quicker."""
        self.run("create", "--validate=false", "-f", str(folder))


def _list(objects: Sequence[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
