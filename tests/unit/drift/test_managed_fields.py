"""Owners of fields, in the format of metadata.managedFields."""

from typing import Any

import pytest

from drift.managed_fields import writers
from preview.resources.differences import Path

LIVE: dict[str, Any] = {
    "spec": {
        "containers": [{"name": "a"}, {"name": "b", "image": "x"}],
        "rules": [{"verbs": ["get"]}],
        "stopPolicy": "Hold",
    },
    "metadata": {"finalizers": ["one", "two"]},
}
FIELDS = {
    "f:metadata": {"f:finalizers": {".": {}, 'v:"two"': {}}},
    "f:spec": {
        ".": {},
        "f:containers": {'k:{"name":"b"}': {".": {}, "f:image": {}}},
        "f:rules": {},
    },
}


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        (("spec", "rules", 0, "verbs", 1), True),  # atomic: owned as a whole
        (("spec", "containers", 1, "image"), True),
        (("spec", "containers", 1, "command"), False),
        (("spec", "containers", 0), False),
        (("spec", "containers"), True),  # something in it
        (("metadata", "finalizers", 1), True),
        (("metadata", "finalizers", 0), False),
        (("spec", "stopPolicy"), False),
        (("spec", "gone", 3), False),
    ],
)
def test_field_is_owned_by_those_that_wrote_it(path: Path, owned: bool) -> None:
    entry = {"manager": "someone", "operation": "Update", "fieldsV1": FIELDS}
    metadata: dict[str, Any] = {**LIVE["metadata"], "managedFields": [entry]}
    assert list(writers({**LIVE, "metadata": metadata}, path)) == ([entry] if owned else [])


def test_object_without_managed_fields_has_no_writers() -> None:
    assert list(writers(LIVE, ("spec",))) == []
