"""Records the writes of a pass."""

from collections.abc import Mapping
from typing import Any

from muster.kube.client import Kube, WriteError
from muster.kube.errors import NoAnswer
from muster.kube.kinds import Kind
from muster.kube.writes import MergePatch, Write
from muster.objects.meta import Object
from tests.unit.controller.builders import Body, read, stored


class Recorder(Kube):
    """Refuses the writes of these keys with an HTTP status, and answers reads with one Namespace or
    with these pods."""

    def __init__(
        self, refused: dict[str, int] | None = None, *, reachable: bool = True, pods: list[Body] | None = None
    ) -> None:
        self.refused, self.reachable, self.pods = refused or {}, reachable, pods or []
        self.sent: list[str] = []

    async def list(
        self,
        kind: Kind[Any],
        labels: Mapping[str, str | None] | None = None,
        namespace: str = "",
        replaced: Any = None,
    ) -> Any:
        if not self.reachable:
            raise NoAnswer("connection refused")
        assert (labels, namespace) == ({"muster.dev/workload-uid": "uid-w"}, "team-a")
        return "9", [read(kind, body) for body in self.pods]

    async def perform(self, write: Write) -> Object | None:
        self.sent.append(write.key)
        if write.key in self.refused:
            raise WriteError(write, self.refused[write.key], "refused")
        if isinstance(write, MergePatch):
            parsed: Object = read(write.kind, stored({"metadata": {"name": write.key}}))
            return parsed
        return None

    async def read(self, kind: Kind[Any], key: str) -> Any:
        if not self.reachable:
            raise NoAnswer("connection refused")
        return read(kind, stored({"metadata": {"name": key}}))
