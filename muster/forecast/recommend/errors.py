"""Errors of recommendations."""


class RecommendError(ValueError):
    """A request that cannot be searched. The message names the problem, its place, and the expected value."""


class InvalidCandidate(ValueError):
    """Settings that are invalid in a stack file; candidates are counted by this message."""
