"""The live page shows text as text, and connects only to its own server."""

from playwright.sync_api import Browser, expect

from muster.kube import kinds
from tests.browser.hostile_texts import HOSTILE
from tests.browser.live import opened_live, served_cluster
from tests.simulation.manifests import cluster_queue, local_stack, quotas, ray_job
from tests.unit.controller.builders import CREATED, Body, condition, request, workload_body


def hostile(number: int) -> Body:
    """A Workload with hostile text in each field; not every engine validates them."""
    text = HOSTILE[number]
    body = workload_body(ray_job(f"job-{number}"), uid=f"uid-{number}", name=f"job{text}")
    body["metadata"]["ownerReferences"][0]["name"] = f"job{text}"
    body["spec"]["priorityClassRef"]["name"] = text
    hostile_condition = condition("QuotaReserved", status=False, reason=text, message=text)
    gone = condition("Preempted", reason=text, message=text)
    body["status"] = {"conditions": [hostile_condition, gone, condition("Evicted", reason="Preempted")]}
    check = {"name": text, "state": text, "message": text, "lastTransitionTime": CREATED}
    body["status"]["admissionChecks"] = [check]
    return body


def test_texts_of_a_cluster_are_never_markup(browser: Browser) -> None:
    asked = [request("Accepted", name=f"ask{text}", message=text, owner="uid-0") for text in HOSTILE]
    bodies = {**local_stack(), kinds.WORKLOADS: [hostile(n) for n in range(len(HOSTILE))]}
    bodies[kinds.PROVISIONING_REQUESTS] = asked
    named = [cluster_queue(text, quotas("cpu", cpu=1), cohort=text) for text in HOSTILE]
    bodies[kinds.CLUSTER_QUEUES] = [*bodies[kinds.CLUSTER_QUEUES], *named]
    with served_cluster(bodies) as live, opened_live(browser, live) as live_page:
        page, dialogs = live_page.page, list[str]()
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        shown = page.locator("#tree").inner_text()
        assert all(text in shown for text in HOSTILE)
        page.locator("#tree .row", has_text="team-a").click()
        for text in HOSTILE:
            page.locator("#workloads .row", has_text=text).first.click()
            expect(page.locator("#workload h3")).to_have_text(f"rayjob/job{text}")
            expect(page.locator("#workload")).to_contain_text(f"{text} \N{EN DASH} {text}")
        assert all(text in page.locator("#preemptions").inner_text() for text in HOSTILE)
        assert all(text in page.locator("#provisioning").inner_text() for text in HOSTILE)
        assert page.locator("main img, main script, main iframe").count() == 0
        assert (dialogs, live_page.messages) == ([], [])
        assert all(url.startswith(live.url) for url in live_page.requests)


def test_policy_refuses_other_servers_and_scripts_in_the_page(browser: Browser) -> None:
    with served_cluster(local_stack()) as live, opened_live(browser, live) as page:
        fetched = "() => fetch('http://127.0.0.1:9/').catch(error => error.message)"
        assert page.page.evaluate(fetched) == "Failed to fetch"
        inserted = """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          return window.ran ?? false;
        }"""
        assert page.page.evaluate(inserted) is False
        assert sum("Content Security Policy" in message for message in page.messages) >= 2
