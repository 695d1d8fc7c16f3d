"""Notices about lasting problems are repeated."""

import pytest

from muster.controller.passes.notices import NOTICE_INTERVAL_MS, Notices


def test_a_notice_is_due_at_once_and_again_while_it_lasts() -> None:
    notices = Notices()
    times = (0, 1, NOTICE_INTERVAL_MS - 1, NOTICE_INTERVAL_MS, NOTICE_INTERVAL_MS + 1)
    assert [notices.is_due("uid", "empty label", t) for t in times] == [True, False, False, True, False]


def test_subjects_and_messages_are_due_independently() -> None:
    notices = Notices()
    assert notices.is_due("uid", "one", 0)
    assert notices.is_due("uid", "another", 1)
    assert notices.is_due("other", "one", 2)
    assert not notices.is_due("uid", "another", 3)


def test_the_number_of_remembered_notices_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.controller.passes.notices.NOTICES_MAX", 2)
    notices = Notices()
    told = [notices.is_due(uid, "empty label", 0) for uid in ("a", "b", "c", "c", "b", "a")]
    assert told == [True, True, True, False, False, True]
