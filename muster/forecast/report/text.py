"""Formats numbers for tables and Markdown."""

from muster.forecast.results.waits import JobGroup


def duration(seconds: float) -> str:
    """Returns a time span with at most two units: 45s, 12m30s, 3h05m, 5d04h."""
    total_s = round(seconds)
    if total_s < 0:
        return f"-{duration(-seconds)}"
    days, hours, minutes, remainder = total_s // 86400, total_s // 3600 % 24, total_s // 60 % 60, total_s % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{remainder:02}s" if minutes else f"{remainder}s"


def change(seconds: float) -> str:
    """Returns a difference with its sign."""
    return "0s" if not round(seconds) else f"{'+' if seconds > 0 else '-'}{duration(abs(seconds))}"


def hours(value: float) -> str:
    """Returns accelerator-hours, with a decimal place below 100."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def share(value: float) -> str:
    """Returns a share in percent."""
    return f"{100 * value:.1f}%"


def points(value: float) -> str:
    """Returns a difference of shares in percentage points, with its sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def named(group: JobGroup) -> tuple[str, str, str]:
    """Returns queue, class and size; a text for the group of all queues."""
    if group == JobGroup():
        return "all queues", "", ""
    return group.queue, group.priority_class, group.size
