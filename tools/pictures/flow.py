"""Draws the flow of a RayJob from submission to running pods, as docs/architecture.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.pictures.canvas import SMALL, WIDTH, Canvas

MARGIN, COLUMNS, GAP = 20.0, 3, 32.0
BOX_WIDTH = (WIDTH - 2 * MARGIN - GAP * (COLUMNS - 1)) / COLUMNS
BOX_HEIGHT, ROW_GAP = 150.0, 64.0
PADDING, LINE = 12.0, 19.0
HEIGHT = 2 * MARGIN + 2 * BOX_HEIGHT + ROW_GAP


@dataclass(frozen=True)
class Stop:
    """One box: the component, a title, a description, and the resulting status that users can observe."""

    place: str
    title: str
    lines: Sequence[str]
    shows: str


STOPS = (
    Stop(
        "Ray user",
        "RayJob",
        ("kubectl create -f rayjob.yaml", "labels name its queue and", "its priority"),
        "",
    ),
    Stop(
        "API server",
        "Admission policies",
        ("refuse a gang that cannot be", "counted or suspended again;", "suspend the others"),
        "RayJob: suspend: true",
    ),
    Stop(
        "Controller",
        "Queue",
        ("a Workload for the whole gang:", "head, workers and submitter;", "a sentence says why it waits"),
        "QuotaReserved: False",
    ),
    Stop(
        "Controller",
        "Admission core",
        ("orders by priority and age;", "finds flavors and quota, or", "victims of lower priority"),
        "QuotaReserved: True",
    ),
    Stop(
        "Controller and GKE",
        "ProvisioningRequest",
        ("for a pool with queued", "provisioning: asks for all", "nodes at once"),
        "AdmissionCheck: Ready",
    ),
    Stop(
        "KubeRay",
        "Running",
        ("starts the head and workers;", "the quota is released once", "the pods are gone"),
        "Admitted: True, suspend: false",
    ),
)
TITLE = "A RayJob from submission to running"
DESCRIPTION = (
    "A user creates a RayJob. Admission policies of the API server check and suspend it. The controller "
    "creates a Workload for the whole gang, which waits in its queue. The admission core reserves quota and "
    "preempts lower priorities. A ProvisioningRequest asks for all nodes at once. Then the Workload is "
    "admitted, and KubeRay starts the pods. A gang that is preempted waits in its queue again."
)


def flow() -> str:
    """Returns the picture as SVG."""
    canvas = Canvas(TITLE, DESCRIPTION, HEIGHT)
    for number, stop in enumerate(STOPS):
        _stop(canvas, number, stop)
    for number in (0, 1, 3, 4):
        x, y = _corner(number)
        canvas.arrow([(x + BOX_WIDTH + 5, y + BOX_HEIGHT / 2), (x + BOX_WIDTH + GAP - 5, y + BOX_HEIGHT / 2)])
    _between_the_rows(canvas)
    return canvas.svg()


def _corner(number: int) -> tuple[float, float]:
    row, column = divmod(number, COLUMNS)
    return MARGIN + column * (BOX_WIDTH + GAP), MARGIN + row * (BOX_HEIGHT + ROW_GAP)


def _stop(canvas: Canvas, number: int, stop: Stop) -> None:
    x, y = _corner(number)
    text_x = x + PADDING
    canvas.box("box edge", x, y, BOX_WIDTH, BOX_HEIGHT, round=6)
    canvas.text(f"{number + 1}  {stop.place}", text_x, y + 23, style="note", size=SMALL)
    canvas.text(stop.title, text_x, y + 47, style="text strong", size=16)
    for index, line in enumerate(stop.lines):
        canvas.text(line, text_x, y + 71 + index * LINE)
    if stop.shows:
        canvas.text(stop.shows, text_x, y + 136, style="result strong", size=SMALL)


def _between_the_rows(canvas: Canvas) -> None:
    """Draws the arrow from the queue to the core, and the arrow of preempted gangs back to the queue."""
    (queue, upper), (core, lower) = _corner(2), _corner(3)
    middle = (upper + BOX_HEIGHT + lower) / 2
    leaves, arrives = queue + BOX_WIDTH * 0.12, core + BOX_WIDTH / 2
    canvas.arrow(
        [(leaves, upper + BOX_HEIGHT + 5), (leaves, middle), (arrives, middle), (arrives, lower - 5)]
    )
    canvas.text(
        "a pass after each change",
        (leaves + arrives) / 2,
        middle - 8,
        style="note",
        size=SMALL,
        anchor="middle",
    )
    back = queue + BOX_WIDTH * 0.3
    canvas.arrow([(back, lower - 5), (back, upper + BOX_HEIGHT + 5)])
    canvas.text("preempted: waits again", back + 10, middle + 4, style="note", size=SMALL)
