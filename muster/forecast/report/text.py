"""Numbers as text, the same in tables and Markdown."""

from muster.forecast.results.waits import Group


def duration(seconds: float) -> str:
    """A time span with two units at most: 45s, 12m30s, 3h05m, 5d04h."""
    whole = round(seconds)
    if whole < 0:
        return f"-{duration(-seconds)}"
    days, hours, minutes, rest = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def change(seconds: float) -> str:
    """A difference with its sign."""
    return "0s" if not round(seconds) else f"{'+' if seconds > 0 else '-'}{duration(abs(seconds))}"


def hours(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def share(value: float) -> str:
    return f"{100 * value:.1f}%"


def named(group: Group) -> tuple[str, str, str]:
    """Queue, class and size, with words for all values of a field."""
    if group == Group():
        return "all queues", "", ""
    return group.queue, group.priority_class, group.size
