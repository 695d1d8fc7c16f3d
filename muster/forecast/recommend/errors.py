"""Errors of recommendations."""


class RecommendError(ValueError):
    """A request that no search can carry out: what, where, what is expected."""


class InvalidCandidate(ValueError):
    """Settings that the stack file may not have; the message is a reason that candidates are counted by."""
