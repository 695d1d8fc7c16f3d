"""The remaining time of builds, from the CPU time that they consumed."""

import os

import pytest

from tools.toolchain.estimate import Work, cpu_seconds, remaining_time

FINISHED = Work(100, 100, finished=True)


@pytest.mark.parametrize(
    ("works", "elapsed", "text"),
    [
        pytest.param([Work(100, 1)], 1, "estimating", id="too-early"),
        pytest.param([Work(100, 0)], 10, "estimating", id="no-cpu-at-all"),
        pytest.param([Work(100, 20)], 10, "about 40 s left", id="two-cores"),
        pytest.param([Work(100, 20)], 80, "about 320 s left", id="an-eighth-of-that"),
        pytest.param([Work(100, 10), Work(60, 10)], 10, "about 70 s left", id="two-builds"),
        pytest.param([Work(100, 20), Work(100)], 10, "about 90 s left", id="another-has-not-started"),
        pytest.param([FINISHED, Work(100, 20)], 60, "about 40 s left", id="one-finished"),
        pytest.param(
            [Work(100, 10, finished=True), Work(100, 10)], 10, "about 45 s left", id="one-was-cached"
        ),
        pytest.param(
            [Work(100, 200, finished=True), Work(100, 20)], 110, "about 90 s left", id="cpu-counts-twice"
        ),
        pytest.param([Work(100, 30, compiled=0.1)], 20, "about 180 s left", id="a-tenth-compiled"),
        pytest.param([Work(100, 130, compiled=0.5)], 60, "about 60 s left", id="half-compiled"),
        pytest.param([Work(100, 20, compiled=0.01)], 10, "about 40 s left", id="too-few-compiled"),
        pytest.param([Work(100, 130)], 60, "longer than estimated", id="over-the-estimate"),
    ],
)
def test_remaining_time(works: list[Work], elapsed: float, text: str) -> None:
    assert remaining_time(works, elapsed) == text


def test_cpu_time_of_a_process_group() -> None:
    assert cpu_seconds(os.getpgrp()) > 0
    assert cpu_seconds(2**30) == 0
