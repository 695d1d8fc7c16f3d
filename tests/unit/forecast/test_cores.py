"""The cores for simulations in parallel."""

import os

import pytest

from muster.forecast.cores import usable_cores


def test_linux_counts_the_cores_of_its_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3, 4}, raising=False)
    assert usable_cores() == 3


def test_macos_counts_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert usable_cores() == 10
