"""The page of a running cluster in a real browser, against an API server in memory."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from muster.kube import kinds
from muster.live.eta.growth_range import GrowthRange, annotation
from muster.live.eta.start_range import StartRange
from muster.objects.meta import rfc3339
from muster.objects.names import ETA_ANNOTATION, GROWTH_ETA_ANNOTATION
from tests.browser.canvases import color, pixels
from tests.browser.live import Live, opened_live, served_cluster
from tests.browser.opened import ColorScheme, Opened
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.controller.builders import NOW_MS, Body, condition, request, stored, workload_body
from tests.unit.live import elastic
from tests.unit.live.builders import finished, running, waiting
from tests.unit.live.pods import container, ended, labelled, pod

UPDATE_S_MAX = 2.0
PODS_MS_MAX = 30_000
BACKGROUNDS: dict[ColorScheme, str] = {"light": "#ffffff", "dark": "#161b22"}
TEAM_A = "#queue=queue%2Fteam-a"


def preempted() -> Body:
    body = workload_body(ray_job("victim"), uid="uid-victim")
    preempted_condition = condition(
        "Preempted", reason="InClusterQueue", message="Preempted to accommodate a workload"
    )
    body["status"] = {"conditions": [preempted_condition, condition("Evicted", reason="Preempted")]}
    return body


def objects() -> dict[kinds.Kind[Any], list[Body]]:
    """Two running gangs, a finished one, thirty pending ones, and a request for capacity."""
    train = [running(ray_job(f"train-{n}", workers=1), ran_s=1_000 * (n + 1)) for n in range(2)]
    waits = [waiting(ray_job(f"next-{n:02}")) for n in range(30)]
    return {
        **local_stack(),
        kinds.WORKLOADS: [*train, finished(ray_job("done", workers=1)), *waits, preempted()],
        kinds.PROVISIONING_REQUESTS: [request("Accepted", owner="uid-victim")],
    }


@pytest.fixture
def live() -> Iterator[Live]:
    with served_cluster(objects()) as served:
        yield served


@pytest.fixture
def live_page(browser: Browser, live: Live) -> Iterator[Opened]:
    """The page, opened. It must not have logged anything at the end, such as a violated policy."""
    with opened_live(browser, live) as page:
        yield page
        assert page.messages == []


def expect_tree(page: Page, *names: str) -> None:
    """Waits until the tree shows these rows."""
    expect(page.locator("#tree .row")).to_have_count(len(names))
    for place, name in enumerate(names, start=1):
        expect(page.locator(f"#tree .row[aria-posinset='{place}'] .name")).to_have_text(name)


def test_tree_has_cohorts_with_their_queues_and_bars(live_page: Opened) -> None:
    page = live_page.page
    expect_tree(page, "ml", "team-a", "team-b")
    row = page.locator("#tree .row", has_text="team-a")
    assert row.get_attribute("aria-level") == "2"
    bar = row.get_by_role("img")
    assert bar.get_attribute("aria-label") == "2 of 4 used, 124 pending"
    expect(row.locator(".numbers")).to_have_text("2 / 4 · 31 pending")
    expect(page.locator("#facts")).to_contain_text("31 pending")
    page.select_option("#resource", "cpu")
    assert (bar.get_attribute("aria-label") or "").startswith("6 of 24 used")


def test_borrowed_quota_is_told_from_own(browser: Browser) -> None:
    borrower = running(ray_job("train", workers=6))
    borrower["status"]["admission"]["clusterQueue"] = "team-b"
    with (
        served_cluster({**local_stack(), kinds.WORKLOADS: [borrower]}) as live,
        opened_live(browser, live) as page,
    ):
        bar = page.page.locator("#tree .row", has_text="team-b").get_by_role("img")
        assert bar.get_attribute("aria-label") == "6 of 4 used, 2 borrowed"
        assert bar.locator(".borrowed").evaluate("part => part.style.width") == f"{100 * 2 / 6:.4f}%"


def test_queue_lists_its_workloads_in_order(live_page: Opened) -> None:
    page = live_page.page
    page.locator("#tree .row", has_text="team-a").click()
    rows = page.locator("#workloads .row")
    expect(rows.first).to_contain_text("team-a/train-1")
    expect(page.locator("#workloads .row", has_text="team-a/next-00").locator(".position")).to_have_text("1")
    expect(page.locator("#workloads .row", has_text="team-a/next-01").locator(".position")).to_have_text("2")
    assert rows.count() < 33  # only visible rows are elements
    page.locator("#workloads").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.locator("#workloads .row", has_text="team-a/victim")).to_be_visible()


def test_workload_says_why_it_waits(live_page: Opened) -> None:
    page = live_page.page
    page.locator("#tree .row", has_text="team-a").click()
    page.locator("#workloads .row", has_text="team-a/next-01").click()
    expect(page.locator("#workload h3")).to_have_text("rayjob/next-01")
    expect(page.locator("#workload .why")).to_contain_text("It waits in ClusterQueue team-a. Reason: ")
    expect(page.locator("#workload h4")).to_contain_text(
        ["It can be admitted once", "Ahead in the queue", "History"]
    )
    expect(page.locator("#workload dl")).to_contain_text("Pending since")
    assert "workload=team-a%2Frayjob-next-01" in page.url
    page.go_back()
    expect(page.locator("#workload")).to_be_hidden()


def test_workers_of_an_autoscaled_job_are_counted(browser: Browser) -> None:
    of_job = {getattr(kinds, name): bodies for name, bodies in elastic.objects(asked=3, runs=3).items()}
    workload = elastic.running_elastic(shrinking=True)
    expected = StartRange(NOW_MS, NOW_MS, NOW_MS + 600_000, NOW_MS + 900_000, 20)
    (job,) = of_job[kinds.RAY_JOBS]
    growth = {GROWTH_ETA_ANNOTATION: annotation([GrowthRange("gpu", 2, 1, expected)])}
    job["metadata"]["annotations"] = growth
    with (
        served_cluster({**local_stack(), kinds.WORKLOADS: [workload], **of_job}) as live,
        opened_live(browser, live) as opened,
    ):
        page = opened.page
        page.locator("#tree .row", has_text="team-a").click()
        row = page.locator("#workloads .row", has_text="team-a/scaled")
        expect(row).to_contain_text("2 granted, 3 asked, 3 running · Shrinking")
        row.click()
        expect(page.locator("#workload dl")).to_contain_text("Workers of gpu")
        expect(page.locator("#workload dl")).to_contain_text("Growth of gpu1 more about ")
        expect(page.locator("#workload dl")).to_contain_text("2 granted, 3 asked")
        expect(page.locator("#workload h4").first).to_have_text("Size of its worker groups")
        expect(page.locator("#workload ul").first).to_contain_text(elastic.NOTICE)
        expect(page.locator("#workload ul").first).to_contain_text(elastic.LIMITED)
        picture = page.locator("#workload .workers svg")
        now = "2 granted, 3 asked, 3 running now; at most 3 since "
        expect(picture).to_have_attribute("aria-label", re.compile(f"^{now}"))
        grown = elastic.running_elastic(granted=4)
        live.change(lambda kube: kube.put(kinds.WORKLOADS, grown))
        grows = re.compile("^4 granted, 3 asked, 3 running now; at most 4 since ")
        expect(picture).to_have_attribute("aria-label", grows, timeout=PODS_MS_MAX)
        areas = page.locator("#workload .workers polygon").evaluate("area => area.points.length")
        assert areas == 6  # two steps of two points, and both ends on the axis


def test_workload_says_why_its_pods_do_not_run(live_page: Opened, live: Live) -> None:
    page = live_page.page
    of_train = labelled(running(ray_job("train-0", workers=1))["metadata"]["uid"])
    crashing = pod("w-1", container(ended(137, "OOMKilled")), labels=of_train)
    live.change(lambda kube: kube.put(kinds.DETAILED_PODS, crashing))
    page.locator("#tree .row", has_text="team-a").click()
    page.locator("#workloads .row", has_text="team-a/train-0").click()
    expect(page.locator("#workload h4").first).to_have_text("Problems of its pods")
    expect(page.locator("#workload ul").first).to_contain_text("pod w-1 was OOM-killed (memory limit 2Gi)")
    live.change(lambda kube: kube.delete(kinds.DETAILED_PODS, "team-a/w-1"))
    expect(page.locator("#workload h4").first).to_have_text("History", timeout=PODS_MS_MAX)


def test_timeline_draws_the_gangs_of_the_chosen_queue(live_page: Opened) -> None:
    page = live_page.page
    canvas, drawn = page.locator("#timeline-canvas"), page.locator("#range")
    expect(drawn).to_contain_text("3 gangs")
    live_page.after_drawing()
    runs = pixels(canvas).of(color(canvas, "horizon"))
    assert runs > 500
    assert pixels(canvas).of(color(canvas, "finished")) > 100
    page.locator("#tree .row", has_text="team-b").click()
    expect(drawn).to_contain_text("0 gangs")
    live_page.after_drawing()
    assert pixels(canvas).of(color(canvas, "horizon")) == 0
    page.locator("#tree .row", has_text="ml").click()
    expect(drawn).to_contain_text("3 gangs")
    live_page.after_drawing()
    assert pixels(canvas).of(color(canvas, "horizon")) == runs


def test_gang_of_the_timeline_opens_its_workload(live_page: Opened) -> None:
    page = live_page.page
    expect(page.locator("#range")).to_contain_text("3 gangs")
    page.locator("#timeline-scroll").scroll_into_view_if_needed()
    box = page.locator("#timeline-scroll").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 24 + 5 + 8)
    expect(page.locator("#workload h3")).to_have_text("rayjob/train-1")


def test_requests_in_flight_and_preemptions_have_their_reasons(live_page: Opened) -> None:
    page = live_page.page
    expect(page.locator("#provisioning tbody tr")).to_contain_text(["says the cloud"])
    expect(page.locator("#preemptions tbody tr")).to_contain_text(["Preempted to accommodate a workload"])
    page.locator("#preemptions button").click()
    expect(page.locator("#workload h3")).to_have_text("rayjob/victim")


def estimated(name: str, start_ms: int) -> Body:
    """A job whose start was expected in the minute after this time, ten minutes before it."""
    estimate = StartRange(start_ms - 600_000, start_ms, start_ms, start_ms + 60_000, 20)
    return stored(ray_job(name, workers=1), annotations={ETA_ANNOTATION: estimate.annotation})


def test_estimates_show_the_share_of_starts_within_their_range(browser: Browser) -> None:
    workloads = [running(ray_job(name, workers=1), ran_s=1_000) for name in ("early", "late")]
    for workload in workloads:
        workload["metadata"]["creationTimestamp"] = rfc3339(NOW_MS - 3_600_000)
    with (
        served_cluster({**local_stack(), kinds.WORKLOADS: workloads}) as live,
        opened_live(browser, live) as live_page,
    ):
        table = live_page.page.locator("#estimates")
        expect(table).to_have_text("No starts with an estimate yet.")
        live.change(lambda kube: kube.put(kinds.RAY_JOBS, estimated("early", NOW_MS - 1_000_000)))
        expect(table.locator("tbody tr").first).to_have_text("All100%10010 min")
        live.change(lambda kube: kube.put(kinds.RAY_JOBS, estimated("late", NOW_MS - 1_200_000)))
        expect(table.locator("tbody tr")).to_have_text(["All50%20110 min", "team-a50%20110 min"])


def took_s(live: Live, kind: kinds.Kind[Any], body: Body, page: Page, shown: str) -> float:
    """Returns how long a change of an object takes until the page reports it; `shown` is a condition."""
    began_s = time.monotonic()
    live.change(lambda kube: kube.put(kind, body))
    page.wait_for_function(f"() => {shown}", timeout=30_000)
    return time.monotonic() - began_s


def test_change_is_shown_within_two_seconds(live_page: Opened, live: Live) -> None:
    page = live_page.page
    page.locator("#tree .row", has_text="team-a").click()
    expect(page.locator("#workloads .row", has_text="team-a/next-00")).to_contain_text("Pending")
    started = running(ray_job("next-00", workers=1), ran_s=0)
    text = "document.querySelector('{}').innerText.includes('{}')"
    tree_says = text.format("#tree", "3 / 4")
    list_says = "document.querySelector('#workloads .row[title*=next-00]').innerText.includes('Admitted')"
    assert took_s(live, kinds.WORKLOADS, started, page, f"{tree_says} && {list_says}") <= UPDATE_S_MAX
    provisioned = request("Accepted", "Provisioned", owner="uid-victim")
    none = text.format("#provisioning", "No request")
    assert took_s(live, kinds.PROVISIONING_REQUESTS, provisioned, page, none) <= UPDATE_S_MAX


def test_deleted_workload_leaves_the_page(live_page: Opened, live: Live) -> None:
    page = live_page.page
    page.locator("#tree .row", has_text="team-a").click()
    expect(page.locator("#workloads .row", has_text="team-a/next-00")).to_be_visible()
    name = workload_body(ray_job("next-00", workers=1))["metadata"]["name"]
    live.change(lambda kube: kube.delete(kinds.WORKLOADS, f"team-a/{name}"))
    expect(page.locator("#workloads .row", has_text="team-a/next-00")).to_have_count(0)
    expect(page.locator("#tree .row", has_text="team-a")).to_contain_text("30 pending")


def test_everything_is_reached_by_keyboard(live_page: Opened) -> None:
    page = live_page.page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("TEAM-B")
    expect(page.locator("#tree .row")).to_have_count(2)  # with the cohort above it
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "tree"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#details-heading")).to_have_text("team-b")
    page.fill("#search", "")
    page.focus("#tree")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect_tree(page, "ml")
    page.keyboard.press("ArrowRight")
    expect_tree(page, "ml", "team-a", "team-b")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#details-heading")).to_have_text("team-a")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "workloads"
    expect(page.locator("#workloads .row").first).to_be_visible()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#workload h3")).to_have_text("rayjob/victim")
    active = page.get_attribute("#workloads", "aria-activedescendant") or ""
    assert page.locator(f"#{active}").get_attribute("class") == "row active"


def test_narrow_screen_does_not_scroll_sideways(browser: Browser, live: Live) -> None:
    with opened_live(browser, live, TEAM_A, width=390) as page:
        expect(page.page.locator("#workloads .row").first).to_be_visible()
        assert page.page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("scheme", BACKGROUNDS)
def test_canvas_and_page_have_the_colors_of_the_scheme(
    browser: Browser, live: Live, scheme: ColorScheme
) -> None:
    with opened_live(browser, live, scheme=scheme) as page:
        assert pixels(page.page.locator("#timeline-canvas")).most_frequent == BACKGROUNDS[scheme]
        red, green, blue = (int(BACKGROUNDS[scheme][at : at + 2], 16) for at in (1, 3, 5))
        shown = page.page.evaluate("getComputedStyle(document.getElementById('tree')).backgroundColor")
        assert shown == f"rgb({red}, {green}, {blue})"


def test_lost_connection_is_said(live_page: Opened, live: Live) -> None:
    expect(live_page.page.locator("#connection")).to_have_text("Live")
    live.loop.call_soon_threadsafe(live.stopping.set)
    expect(live_page.page.locator("#connection")).to_have_text("Disconnected; reconnecting")
    assert all("ERR_CONNECTION_REFUSED" in text or "ERR_INCOMPLETE" in text for text in live_page.messages)
    live_page.messages.clear()


def test_new_server_replaces_all_that_was_shown(browser: Browser) -> None:
    with served_cluster(objects()) as first, opened_live(browser, first) as live_page:
        page = live_page.page
        expect(page.locator("#provisioning tbody tr")).to_have_count(1)
        first.loop.call_soon_threadsafe(first.stopping.set)
        expect(page.locator("#connection")).to_have_text("Disconnected; reconnecting")
        remaining = {**local_stack(), kinds.WORKLOADS: [running(ray_job("train", workers=1))]}
        with served_cluster(remaining, first.port):
            expect(page.locator("#connection")).to_have_text("Live", timeout=20_000)
            expect(page.locator("#provisioning")).to_contain_text("No request waits")
            expect(page.locator("#preemptions tbody tr")).to_have_count(0)
            expect(page.locator("#tree .row", has_text="team-a").locator(".numbers")).to_have_text("1 / 4")
