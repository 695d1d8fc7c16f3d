"""The error of a request that cannot be served."""


class RefusedError(Exception):
    """A request that cannot be served. Users read the text: what, where and what to do."""
