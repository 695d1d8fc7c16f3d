"""Events about lasting problems are repeated."""

import pytest

from muster.controller.pacing.events import REPEAT_INTERVAL_MS, RepeatedEvents


def test_a_notice_is_due_at_once_and_again_while_it_lasts() -> None:
    repeated = RepeatedEvents()
    times = (0, 1, REPEAT_INTERVAL_MS - 1, REPEAT_INTERVAL_MS, REPEAT_INTERVAL_MS + 1)
    assert [repeated.is_due("uid", "empty label", t) for t in times] == [True, False, False, True, False]


def test_subjects_and_messages_are_due_independently() -> None:
    repeated = RepeatedEvents()
    assert repeated.is_due("uid", "one", 0)
    assert repeated.is_due("uid", "another", 1)
    assert repeated.is_due("other", "one", 2)
    assert not repeated.is_due("uid", "another", 3)


def test_the_number_of_remembered_notices_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.controller.pacing.events.REMEMBERED_MAX", 2)
    repeated = RepeatedEvents()
    due = [repeated.is_due(uid, "empty label", 0) for uid in ("a", "b", "c", "c", "b", "a")]
    assert due == [True, True, True, False, False, True]
