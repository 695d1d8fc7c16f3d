"""A client that lists objects from memory."""

from collections.abc import Mapping
from typing import Any, TypeVar

from muster.kube.errors import Status, StatusError
from muster.kube.kinds import Kind
from muster.objects.meta import Object
from tests.unit.controller.builders import read, stored

T = TypeVar("T", bound=Object)


class Listing:
    """Answers lists with objects, or with the status of an error."""

    def __init__(self, objects: Mapping[Kind[Any], list[dict[str, Any]]], **codes: int) -> None:
        self._objects, self._codes = objects, codes
        self.listed: list[str] = []

    async def list(
        self, kind: Kind[T], labels: Mapping[str, str | None] | None = None, namespace: str = ""
    ) -> tuple[str, list[T]]:
        self.listed.append(str(kind))
        code = self._codes.get(kind.name, 0)
        if code:
            raise StatusError(Status(code=code, message="no"))
        objects = [read(kind, stored(body)) for body in self._objects.get(kind, ())]
        return "7", [obj for obj in objects if _selected(obj, labels or {}, namespace)]


def _selected(obj: Object, labels: Mapping[str, str | None], namespace: str) -> bool:
    own = obj.metadata.labels
    has_labels = all(label in own and value in (None, own[label]) for label, value in labels.items())
    return has_labels and (not namespace or obj.metadata.namespace in ("", namespace))
