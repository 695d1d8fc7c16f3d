"""What stays wrong is told, and told again."""

import pytest

from muster.controller.notices import NOTICE_INTERVAL_MS, Notices


def test_it_is_told_at_once_and_again_while_it_lasts() -> None:
    notices = Notices()
    times = (0, 1, NOTICE_INTERVAL_MS - 1, NOTICE_INTERVAL_MS, NOTICE_INTERVAL_MS + 1)
    assert [notices.is_due("uid", "empty label", t) for t in times] == [True, False, False, True, False]


def test_other_subjects_and_other_messages_are_told_on_their_own() -> None:
    notices = Notices()
    assert notices.is_due("uid", "one", 0)
    assert notices.is_due("uid", "another", 1)
    assert notices.is_due("other", "one", 2)
    assert not notices.is_due("uid", "another", 3)


def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.controller.notices.NOTICES_MAX", 2)
    notices = Notices()
    told = [notices.is_due(uid, "empty label", 0) for uid in ("a", "b", "c", "c", "b", "a")]
    assert told == [True, True, True, False, False, True]
