"""The pictures of the docs: what they show, to scale, and legible."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import msgspec
import pytest
import yaml

from sandbox.scenarios.milestones import MilestoneResult
from sandbox.scenarios.recording import Gpus, Job, Recording, to_json
from sandbox.scenarios.timeline import Phase
from tools.pictures.canvas import COLORS, WIDTH, text_width
from tools.pictures.comparison import Compared, Comparison, comparison
from tools.pictures.draw import FOLDER, RECORDING, drawn, pictures
from tools.pictures.flow import flow
from tools.pictures.timeline import LEFT, MARGIN, spread, ticks, timeline
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError

GOLDEN = Path(__file__).parent / "golden" / "timeline.svg"
SVG = "{http://www.w3.org/2000/svg}"
PHASES = ("waiting", "provisioning", "running", "preempted")

SMALL = Recording(
    scenario="small",
    seconds=10.0,
    queue="team-a",
    jobs=[
        Job("low", "dev", 4, [(0.0, Phase.WAITING), (1.0, Phase.RUNNING), (4.0, Phase.PREEMPTED)]),
        Job("high", "prod", 2, [(3.5, Phase.PROVISIONING), (5.5, Phase.RUNNING), (9.0, Phase.DONE)]),
    ],
    milestones=[
        MilestoneResult("low runs", 1.0, ""),
        MilestoneResult("high arrives", 3.5, ""),
        MilestoneResult("end", 9.0, ""),
    ],
    gpus=[Gpus(0.0, 0, 0, 0), Gpus(1.0, 4, 4, 4), Gpus(5.5, 2, 2, 4), Gpus(9.0, 0, 0, 4)],
)
AT_ONCE = [MilestoneResult(f"milestone {number}", 3.5, "") for number in range(5)]
TIMELINES = {
    "small": timeline(SMALL),
    "milestones at the same time": timeline(msgspec.structs.replace(SMALL, milestones=AT_ONCE)),
    "jobs": drawn()["jobs.svg"],
}
COMPARISON = Comparison(
    "Kueue's performance harness, large-scale: 50,000 workloads",
    "2 cores, 24 GiB, x86_64, Python 3.11.7; 2026-11-22",
    [
        Compared("mean time to admission, medium", 30, 120, "30.0 s", "120 s", "0.25", "< 1", True),
        Compared("queue usage", 0.5, 0.4, "50.0%", "40.0%", "1.25", ">= 75%", False),
        Compared("evictions, medium", 5, 4, "5", "4", "1.25", "", True),
    ],
)
KEPT = [svg for name, svg in drawn().items() if name.startswith("kueue-")]
COMPARISONS = [comparison(COMPARISON), *KEPT]
ALL = {**TIMELINES, "flow": flow(), **{f"comparison {n}": svg for n, svg in enumerate(COMPARISONS)}}


class Box(NamedTuple):
    """A rectangle around a shape or a text."""

    what: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


def elements(svg: str, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(SVG + name))


def rectangles(svg: str, *styles: str) -> list[Box]:
    found = [e for e in elements(svg, "rect") if set(e.attrib["class"].split()) & set(styles)]
    sides = [[float(e.attrib[key]) for key in ("x", "y", "width", "height")] for e in found]
    return [
        Box(e.attrib["class"], x, y, x + width, y + height)
        for e, (x, y, width, height) in zip(found, sides, strict=True)
    ]


def texts(svg: str) -> Iterator[Box]:
    for element in elements(svg, "text"):
        says, size = element.text or "", float(element.attrib["font-size"])
        width = text_width(says, size, element.attrib["class"])
        left = float(element.attrib["x"]) - width * {"middle": 0.5, "end": 1}.get(
            element.attrib.get("text-anchor", ""), 0
        )
        base = float(element.attrib["y"])
        yield Box(says, left, base - size * 0.8, left + width, base + size * 0.2)


def bars(svg: str) -> list[Box]:
    """Returns the bars of the rows, without the legend's squares."""
    return [box for box in rectangles(svg, *PHASES) if box.bottom - box.top > 12]


def test_pictures_of_the_docs_are_up_to_date() -> None:
    assert {name: (FOLDER / name).read_text() for name in drawn()} == drawn(), "draw them with: make pictures"


def test_a_small_run_is_drawn_as_before() -> None:
    """If it is to change, `python -m tests.unit.tools.test_pictures` writes what to look at."""
    assert timeline(SMALL) == GOLDEN.read_text()


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_picture_needs_nothing_from_elsewhere(svg: str) -> None:
    assert not re.search(r"href|url\(|@import|@font-face|<script", svg)


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_every_style_has_a_color_on_light_and_on_dark_pages(svg: str) -> None:
    drawn_with = {style for e in ElementTree.fromstring(svg).iter() for style in e.get("class", "").split()}
    assert drawn_with - {"strong"} <= COLORS.keys()
    light, dark = elements(svg, "style")[0].text.split("@media(prefers-color-scheme:dark)")  # type: ignore[union-attr]
    assert all(f".{style}{{" in part for style in COLORS for part in (light, dark))


@pytest.mark.parametrize("svg", ALL.values(), ids=ALL)
def test_texts_neither_overlap_nor_leave_the_picture(svg: str) -> None:
    root, found = ElementTree.fromstring(svg), list(texts(svg))
    page = Box("page", 0, 0, float(root.attrib["width"]), float(root.attrib["height"]))
    assert page.right == WIDTH
    outside = [
        t for t in found if t.left < 8 or t.top < 8 or t.right > page.right - 8 or t.bottom > page.bottom - 8
    ]
    assert outside == []
    assert [(a.what, b.what) for a, b in combinations(found, 2) if a.overlaps(b)] == []


@pytest.mark.parametrize("svg", TIMELINES.values(), ids=TIMELINES)
def test_no_text_is_on_a_bar(svg: str) -> None:
    assert bars(svg)
    assert [(t.what, bar) for t in texts(svg) for bar in bars(svg) if t.overlaps(bar)] == []


@pytest.mark.parametrize("svg", TIMELINES.values(), ids=TIMELINES)
def test_numbers_of_milestones_are_apart(svg: str) -> None:
    found = [tuple(float(e.attrib[key]) for key in ("cx", "cy", "r")) for e in elements(svg, "circle")]
    circles = [Box("circle", x - r, y - r, x + r, y + r) for x, y, r in found]
    assert circles
    assert [pair for pair in combinations(circles, 2) if pair[0].overlaps(pair[1])] == []


def test_each_job_has_a_row_with_its_phases() -> None:
    svg = timeline(SMALL)
    rows: dict[float, list[str]] = {}
    for bar in bars(svg):
        rows.setdefault(bar.top, []).append(bar.what)
    assert list(rows.values()) == [["waiting", "running", "preempted"], ["provisioning", "running"]]
    names = [t for t in texts(svg) if t.what in ("low", "high")]
    assert [name.top < top < name.bottom + 24 for name, top in zip(names, rows, strict=True)] == [True, True]


@pytest.mark.parametrize("seconds", [10.0, 25.0])
def test_bars_begin_and_end_at_their_times_on_the_axis(seconds: float) -> None:
    svg = timeline(msgspec.structs.replace(SMALL, seconds=seconds))
    axis = [e for e in elements(svg, "text") if re.fullmatch(r"\d+ s", e.text or "")]
    (zero, *_, last), end = (float(e.attrib["x"]) for e in axis), int((axis[-1].text or "").split()[0])
    edges = [
        ((bar.left - zero) / (last - zero) * end, (bar.right - zero) / (last - zero) * end)
        for bar in bars(svg)
    ]
    times = [(0.0, 1.0), (1.0, 4.0), (4.0, seconds), (3.5, 5.5), (5.5, 9.0)]
    assert edges == [pytest.approx(time, abs=0.01) for time in times]


def test_without_a_cluster_queue_only_pods_are_drawn() -> None:
    svg = timeline(msgspec.structs.replace(SMALL, queue=""))
    styles = [e.attrib["class"] for e in elements(svg, "polyline")]
    assert not {"quota", "reserved"} & set(styles)
    assert {"quota", "reserved"} < {e.attrib["class"] for e in elements(timeline(SMALL), "polyline")}


def test_names_of_all_examples_fit_beside_the_bars() -> None:
    files = (CHECKOUT / "examples").glob("*.ray*.yaml")
    metadata = [each["metadata"] for path in files for each in yaml.safe_load_all(path.read_text())]
    names = [each["generateName"].rstrip("-") for each in metadata if "generateName" in each]
    assert [name for name in names if text_width(name, style="strong") > LEFT - MARGIN - 4] == []


def test_bars_of_both_engines_are_to_scale_and_only_figures_with_a_target_are_drawn() -> None:
    found = bars(comparison(COMPARISON))
    assert [bar.what for bar in found] == ["running", "waiting"] * 2
    assert found[0].right - found[0].left == pytest.approx((found[1].right - found[1].left) / 4)
    assert found[3].right - found[3].left == pytest.approx((found[2].right - found[2].left) * 0.8, abs=0.1)


def test_a_missed_target_is_marked() -> None:
    results = [e for e in elements(comparison(COMPARISON), "text") if e.get("text-anchor") == "end"][1:]
    assert [(e.text, e.attrib["class"]) for e in results] == [
        ("0.25, < 1", "text"),
        ("1.25, >= 75%: missed", "preempted"),
    ]


def test_results_of_a_benchmark_are_taken_over_and_drawn(tmp_path: Path) -> None:
    folder, results = tmp_path / "pictures", tmp_path / "baseline.json"
    folder.mkdir()
    (folder / RECORDING.name).write_bytes(to_json(SMALL))
    results.write_bytes(msgspec.json.encode(COMPARISON))
    pictures(None, results, folder)
    assert (folder / "kueue-baseline.svg").read_text() == comparison(COMPARISON)


@pytest.mark.parametrize("text", [None, "{", '{"title": "", "about": "", "figures": []}'])
def test_a_file_without_results_is_refused(text: str | None, tmp_path: Path) -> None:
    results = tmp_path / "small.json"
    if text is not None:
        results.write_text(text)
    with pytest.raises(StepError, match=r"small\.json"):
        pictures(None, results, tmp_path)
    assert list(tmp_path.glob("kueue-*")) == []


def test_boxes_of_the_flow_are_apart_and_hold_their_texts() -> None:
    svg = flow()
    boxes = rectangles(svg, "box")
    assert len(boxes) == 6
    assert [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])] == []
    for text in texts(svg):
        for box in boxes:
            inside = box.left < text.left and text.right < box.right
            assert inside or not text.overlaps(box), f"{text.what!r} crosses the edge of its box"


SPREAD = {
    "places that are apart stay": ([10, 50, 90], [10, 50, 90]),
    "close ones move to the right": ([10, 12, 13], [10, 30, 50]),
    "at the right edge they move to the left": ([50, 99, 100], [50, 80, 100]),
    "at the left edge": ([-5, 0], [0, 20]),
    "one alone": ([120], [100]),
    "none": ([], []),
}


@pytest.mark.parametrize(("places", "found"), SPREAD.values(), ids=SPREAD)
def test_numbers_of_milestones_keep_their_distance(places: list[float], found: list[float]) -> None:
    assert spread(places, 20, 0, 100) == found


@pytest.mark.parametrize(
    ("until", "found"),
    [(3.2, [0, 1, 2, 3]), (14.9, [0, 2, 4, 6, 8, 10, 12, 14]), (100, list(range(0, 101, 10)))],
)
def test_time_axis_has_a_few_whole_seconds(until: float, found: list[int]) -> None:
    assert list(ticks(until)) == found


@pytest.fixture
def state(tmp_path: Path) -> RunState:
    state = RunState("mine", tmp_path / "checkout")
    state.make()
    return state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of pictures with an earlier run."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / RECORDING.name).write_bytes(RECORDING.read_bytes())
    return folder


def test_last_run_of_a_sandbox_is_taken_over_and_drawn(state: RunState, folder: Path) -> None:
    state.recording("jobs").write_bytes(to_json(SMALL))
    assert pictures(state, None, folder) == 0
    assert (folder / "jobs.svg").read_text() == timeline(SMALL)
    assert pictures(None, None, folder) == 0
    assert (folder / "jobs.svg").read_text() == timeline(SMALL)


def test_run_that_missed_a_milestone_is_not_taken_over(state: RunState, folder: Path) -> None:
    missed = MilestoneResult("it ends", None, "", "not observed")
    state.recording("jobs").write_bytes(to_json(msgspec.structs.replace(SMALL, milestones=[missed])))
    with pytest.raises(StepError, match="it ends: not observed"):
        pictures(state, None, folder)
    assert (folder / RECORDING.name).read_bytes() == RECORDING.read_bytes()


def test_sandbox_without_a_run_says_how_to_get_one(state: RunState, folder: Path) -> None:
    with pytest.raises(StepError) as refused:
        pictures(state, None, folder)
    assert refused.value.try_this == "make scenario NAME=mine SCENARIO=jobs"


if __name__ == "__main__":
    GOLDEN.write_text(timeline(SMALL))
