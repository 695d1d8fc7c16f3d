"""Numbers of workers in messages."""


def workers(count: int) -> str:
    """Returns the number with its noun."""
    return f"{count} worker{'s' if count != 1 else ''}"
