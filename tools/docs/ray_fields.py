"""Records the fields of the pinned KubeRay's CRDs (`make fields`), and writes docs/ray-fields.md."""

from functools import cache
from typing import Any

import yaml

from components.admission.fields.schema import FILE, Fields, addresses, fields_of, recorded, text_of
from components.admission.fields.table import Row, row_of, table
from components.admission.ray import RAY_KINDS
from muster.cluster.jobs.job_kind import JobKind
from tools.toolchain.crds import ensure_crds
from tools.toolchain.paths import CHECKOUT


def _own_fields(kind: JobKind) -> str:
    own = "" if kind.ray_cluster == "spec" else f"A {kind}'s own fields; "
    return f"{own}`{kind.ray_cluster}` is a RayClusterSpec."


PAGE = CHECKOUT / "docs" / "ray-fields.md"
OWNERS = {
    **{kind.name: _own_fields(kind) for kind in RAY_KINDS},
    "RayClusterSpec": "A Ray cluster, in each of these kinds.",
    "PodTemplateSpec": "The pods of the head, of each worker group, and of a RayJob's submitter.",
    "Container": "Each container and init container of a pod template.",
    "Service": "`headGroupSpec.headService`, and a RayService's `serveService`.",
}
BEGIN = "<!-- rows: written by make docs -->\n"


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Returns the OpenAPI schema of version v1 of each kind, from the pinned Go module."""
    folder = ensure_crds("muster")
    return {kind.name: _schema((folder / f"ray.io_{kind.plural}.yaml").read_text()) for kind in RAY_KINDS}


def _schema(text: str) -> dict[str, Any]:
    definition = yaml.load(text, yaml.CSafeLoader)
    (version,) = (v for v in definition["spec"]["versions"] if v["name"] == "v1")
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def pinned() -> Fields:
    """Returns the fields of the pinned KubeRay."""
    return fields_of(schemas())


def record() -> int:
    """Writes the fields of the pinned KubeRay to components/admission/fields/schema.json."""
    FILE.write_text(text_of(pinned()))
    return 0


def page(text: str) -> str:
    """Returns the text of docs/ray-fields.md with current tables."""
    rows = table()
    counts: dict[Row | None, int] = {}
    for address in addresses(recorded()):
        row = row_of(address, rows)
        counts[row] = counts.get(row, 0) + 1
    return text.partition(BEGIN)[0] + BEGIN + "".join(_section(owner, rows, counts) for owner in OWNERS)


def _section(owner: str, rows: tuple[Row, ...], counts: dict[Row | None, int]) -> str:
    lines = [
        f"\n## {owner}\n\n{OWNERS[owner]}\n\n"
        "| field | fields below | effect | why | shown by |\n|---|---|---|---|---|\n"
    ]
    lines += (
        f"| {_field(row)} | {counts.get(row, '')} | {row.effect} | {row.why} | {_tests(row)} |\n"
        for row in rows
        if row.owner == owner
    )
    return "".join(lines)


def _field(row: Row) -> str:
    return f"`{row.path}` (KubeRay {row.since})" if row.since else f"`{row.path}`"


def _tests(row: Row) -> str:
    """Returns the test that shows most: its own, or that of its effect."""
    return f"`{row.tests[0]}`"
