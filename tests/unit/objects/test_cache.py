"""Caches of users' texts stay within their bound of bytes."""

import json
import tracemalloc
from collections.abc import Callable

import pytest

from muster.cluster import eligibility
from muster.objects import pods
from muster.objects.cache import BYTES_MAX, ENTRY_BYTES, ByteCache, cost_of
from muster.objects.kueue import PodSet
from muster.objects.pods import Template, pod_requests, read_template

# Caches and templates of an eighth of their size: the proportions are the same, and tracing is slow.
JOBS, TEMPLATE_BYTES, KEPT_BYTES = 300, 50_000, BYTES_MAX // 8


def length_cache(bytes_max: int) -> tuple[ByteCache[int], list[bytes]]:
    """Returns a cache of texts' lengths, and the list of texts that it has converted."""
    computed: list[bytes] = []

    def make(text: bytes) -> int:
        computed.append(text)
        return len(text)

    return ByteCache(make, bytes_max), computed


def test_the_most_recently_used_is_kept() -> None:
    room_for_two = 2 * cost_of(b"a")
    cache, computed = length_cache(room_for_two)
    for text in (b"a", b"b", b"a", b"c", b"a", b"b"):
        assert cache(text) == 1
    assert computed == [b"a", b"b", b"c", b"b"]
    assert cache.size_bytes == room_for_two


def test_a_text_larger_than_the_cache_evicts_nothing() -> None:
    cache, computed = length_cache(2 * cost_of(b"a"))
    for text in (b"a", b"x" * 2000, b"x" * 2000, b"a"):
        cache(text)
    assert [len(text) for text in computed] == [1, 2000, 2000]


def test_many_short_strings_cost_more_than_their_characters() -> None:
    assert cost_of(json.dumps({str(n): "" for n in range(100)}).encode()) > 200 * 64 + ENTRY_BYTES


def one_long_annotation(number: int) -> bytes:
    return as_template({"note": f"{number:06d}" + "x" * TEMPLATE_BYTES})


def many_short_labels(number: int) -> bytes:
    return as_template({f"{number}-{n}": "" for n in range(TEMPLATE_BYTES // 14)})


def as_template(annotations: dict[str, str]) -> bytes:
    containers = [{"name": "c", "image": "ray", "resources": {"requests": {"cpu": "1"}}}]
    body = {"metadata": {"annotations": annotations}, "spec": {"containers": containers}}
    return json.dumps(body).encode()


SHAPES: dict[str, tuple[Callable[[int], bytes], int]] = {
    "one long annotation": (one_long_annotation, JOBS),
    "many short labels": (many_short_labels, JOBS // 10),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.slow
def test_old_templates_leave_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's 1,500 jobs of 400 kB used to leave 1.7 GB."""
    template, count = SHAPES[name]
    caches = (pods._DECODED, eligibility._SHAPE_PROBLEMS)
    for cache in caches:
        monkeypatch.setattr(cache, "_bytes_max", KEPT_BYTES)
    tracemalloc.start()
    try:
        for number in range(count):
            raw = Template(template(number))
            read_template(raw)
            pod_requests(raw)
            assert eligibility.pod_set_problem(PodSet(name="head", count=1, template=raw)) is None
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 2 * KEPT_BYTES
    assert max(cache.size_bytes for cache in caches) <= KEPT_BYTES
