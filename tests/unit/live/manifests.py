"""Manifests and what the command line prints of them as JSON."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from muster.kube.kinds import Kind
from tests.unit.controller.builders import Body


def manifest(kind: Kind[Any], body: Mapping[str, Any]) -> Body:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


def as_json(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))
