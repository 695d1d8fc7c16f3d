"""Settings that are Outputs of another resource."""

import pulumi
import pytest
from pulumi.output import UNKNOWN

from tests.unit.components.harness import declare
from tests.unit.settings.builders import FILE, L4, put, refusal

PLACES: dict[str, tuple[tuple[str | int, ...], str]] = {
    "a section": (("muster:cluster",), "muster:cluster"),
    "a value of a list's entry": ((*L4, "machineType"), "muster:pools[1].machineType"),
    "a key of a mapping": (
        ("muster:tenants", 0, "queues", "user-queue"),
        "muster:tenants[0].queues.user-queue",
    ),
}


@pytest.mark.parametrize(("place", "written"), PLACES.values(), ids=PLACES)
def test_an_output_is_refused_by_its_path(place: tuple[str | int, ...], written: str) -> None:
    refused: list[str] = []

    def program() -> None:
        for output in (pulumi.Output.from_input("known later"), UNKNOWN):
            refused.append(refusal(put(*place, output)))

    declare(program)
    for message in refused:
        assert message.startswith(
            f"{FILE}: 1 problem in the settings; nothing was deployed.\n\n"
            f"{written}\n  given:    an Output\n  expected: a plain value"
        )
    assert len(refused) == 2
