"""The table of Ray's fields (components/admission/fields): complete, without rows that do nothing."""

import copy
from typing import Any

import pytest

from components.admission.fields import schema, table
from components.admission.fields.schema import addresses, fields_of, recorded
from components.admission.fields.table import EFFECTS, TableError, row_of, rows
from settings.model.operators.kuberay import KUBERAY_VERSION
from tools.docs import ray_fields
from tools.docs.ray_fields import page
from tools.toolchain.paths import CHECKOUT

TABLE = table.table()


def uncovered(fields: schema.Fields) -> list[str]:
    """Returns the paths that the table says nothing about."""
    return [str(address) for address in addresses(fields) if row_of(address, TABLE) is None]


def test_every_field_has_a_row() -> None:
    assert uncovered(recorded()) == []


def test_every_row_is_of_a_field() -> None:
    """Rows of fields that only newer versions have are tried by tests/stacks/test_ray_fields.py."""
    used = {row_of(address, TABLE) for address in addresses(recorded())}
    assert [str(row) for row in TABLE if row not in used and not row.since] == []


def test_a_row_says_since_when_a_newer_version_has_its_field() -> None:
    """Otherwise it is left over from before the pinned version had the field."""
    assert [str(row) for row in TABLE if row.since and not is_newer(row.since)] == []


def is_newer(version: str) -> bool:
    numbers = [tuple(map(int, text.split("."))) for text in (version, KUBERAY_VERSION)]
    return numbers[0] > numbers[1]


def test_a_path_has_one_row() -> None:
    names = [str(row) for row in TABLE]
    assert sorted(set(names)) == sorted(names)


STRING = {"type": "string"}
ROOTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "headGroupSpec": {
                    "type": "object",
                    "properties": {
                        "headService": {"type": "object", "properties": {"kind": STRING}},
                        "template": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "containers": {
                                            "type": "array",
                                            "items": {"type": "object", "properties": {"image": STRING}},
                                        }
                                    },
                                }
                            },
                        },
                    },
                }
            },
        }
    },
}


def new_field(*path: str) -> schema.Fields:
    """Returns the fields of a small KubeRay of which one kind has another field."""
    schemas: dict[str, Any] = {kind: copy.deepcopy(ROOTS) for kind in schema.KINDS}
    here = schemas["RayCluster"]
    for name in path[:-1]:
        here = here["items"] if name == "[]" else here["properties"][name]
    here["properties"][path[-1]] = STRING
    return fields_of(schemas)


POD = ("spec", "headGroupSpec", "template", "spec")


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        pytest.param(("spec", "surge"), "RayCluster.spec.surge", id="of a kind"),
        pytest.param((*POD, "gang"), "RayCluster.spec.headGroupSpec.template.spec.gang", id="of pods"),
        pytest.param(
            (*POD, "containers", "[]", "gpus"),
            "RayCluster.spec.headGroupSpec.template.spec.containers[].gpus",
            id="of containers",
        ),
        pytest.param(
            ("spec", "headGroupSpec", "gateway"), "RayCluster.spec.headGroupSpec.gateway", id="of the head"
        ),
    ],
)
def test_a_field_that_kuberay_adds_is_reported(path: tuple[str, ...], reported: str) -> None:
    assert reported in uncovered(new_field(*path))


def test_a_template_that_differs_from_the_others_is_reported() -> None:
    """Templates share a definition only while they are equal."""
    fields = new_field(*POD, "gang")
    types = {field.path: field.type for field in fields["RayJob"]}
    assert types["spec.headGroupSpec.template.spec.containers[]"] == "Container"


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({}, id="without an effect"),
        pytest.param({"frozen": "why", "harmless": "why"}, id="two effects"),
        pytest.param({"counted": "why"}, id="counted without a test"),
        pytest.param({"bounded": "why", "within": [1]}, id="bounded without a value beyond"),
        pytest.param({"harmless": "why", "test": "tests/test_x.py::test_x"}, id="harmless with a test"),
        pytest.param({"frozen": "why", "valeus": [1]}, id="an unknown key"),
        pytest.param({"frozen": "why", "since": "1.7.0"}, id="newer, without its type"),
        pytest.param({"frozen": "why", "since": "1.7.0", "type": "object"}, id="newer, without values"),
    ],
)
def test_an_invalid_row_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(TableError, match=r"RayJob\.spec\.new"):
        rows({"RayJob": {"spec.new": row}})


def test_each_test_exists() -> None:
    for row in TABLE:
        for test in row.tests:
            path, _, name = test.partition("::")
            assert f"def {name}(" in (CHECKOUT / path).read_text(), f"{row}: {test}"


def test_the_page_is_up_to_date() -> None:
    text = ray_fields.PAGE.read_text()
    assert text == page(text), "run make docs"


def test_the_page_has_every_effect() -> None:
    assert {row.effect for row in TABLE} == set(EFFECTS)
