"""Errors of recommendations."""


class RecommendError(ValueError):
    """A request that cannot be searched. The message says what, where, and what is expected."""


class InvalidCandidate(ValueError):
    """Settings that are invalid in a stack file; candidates are counted by this message."""
