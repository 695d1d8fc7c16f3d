"""Tests of the limit that lets a burst through."""

from muster.controller.pacing.rates import TokenBucket


def test_a_burst_is_let_through_and_the_rest_at_the_rate() -> None:
    bucket = TokenBucket(burst=10, per_s=2)
    assert bucket.available(0) == 10
    bucket.take(10, 0)
    assert bucket.available(400) == 0
    assert bucket.available(500) == 1
    assert bucket.due_ms(4, 500) == 2000
    assert bucket.available(60_000) == 10


def test_more_than_the_burst_is_due_with_a_full_bucket() -> None:
    bucket = TokenBucket(burst=10, per_s=2)
    bucket.take(10, 0)
    assert bucket.due_ms(25, 0) == 5000


def test_another_rate_counts_from_when_it_is_set() -> None:
    bucket = TokenBucket(burst=10, per_s=2)
    bucket.take(10, 0)
    bucket.set_rate(4, 1000)
    assert [bucket.available(at_ms) for at_ms in (1000, 1500, 2000)] == [2, 4, 6]
    assert bucket.due_ms(10, 1000) == 3000


def test_no_time_adds_no_tokens() -> None:
    bucket = TokenBucket(burst=10, per_s=2)
    bucket.take(10, 1000)
    assert bucket.available(1000) == bucket.available(900) == 0


def test_what_was_taken_beyond_the_tokens_is_made_up_for() -> None:
    bucket = TokenBucket(burst=10, per_s=2)
    bucket.take(14, 0)
    assert [bucket.available(at_ms) for at_ms in (0, 2000, 3000)] == [0, 0, 2]
