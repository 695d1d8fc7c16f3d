"""docs/metrics.md is what the controller's registry says."""

from tools.docs.metrics_reference import reference
from tools.toolchain.paths import CHECKOUT


def test_the_page_is_up_to_date() -> None:
    page = CHECKOUT / "docs" / "metrics.md"
    assert page.read_text() == reference(), "write it with: make docs"


def test_labels_of_metrics_without_samples_are_named() -> None:
    rows = {
        row.split(" | ")[0].strip("| `"): row for row in reference().splitlines() if row.startswith("| `")
    }
    assert (
        "| counter | `cluster_queue`, `reason`, `priority_class` |" in rows["muster_evicted_workloads_total"]
    )
    assert "| gauge | `cluster_queue`, `status` |" in rows["muster_pending_workloads"]
    assert "| gauge | `watch` |" in rows["muster_watch_age_seconds"]
    assert "| histogram |  |" in rows["muster_pass_duration_seconds"]
