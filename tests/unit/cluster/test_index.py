"""Objects are found by common values, regardless of earlier changes."""

from random import Random

from muster.cluster.index import Index


def by_letters() -> Index[str, str]:
    return Index(lambda word: word)


def test_objects_are_found_by_each_of_their_values_in_the_order_of_their_keys() -> None:
    index = by_letters()
    for key, word in (("b", "on"), ("a", "no"), ("c", "n")):
        index.put(key, word)
    assert (index.having("n"), index.having("o"), index.having("x")) == (["no", "on", "n"], ["no", "on"], [])
    assert (index.first("o"), index.first("x")) == ("no", None)


def test_put_returns_the_values_before_and_now() -> None:
    index = by_letters()
    previous_values = [index.put("a", word) for word in ("on", "in", None, None, "")]
    assert [set(values) for values in previous_values] == [set("on"), set("oin"), set("in"), set(), set()]


def test_nothing_is_kept_of_objects_that_are_gone() -> None:
    index, random, words = by_letters(), Random(1), dict[str, str]()
    for _ in range(500):
        key, word = random.choice("abc"), random.choice(("", "on", "no", "in"))
        index.put(key, word or None)
        words[key] = word
        assert index.values == set("".join(words.values()))
        assert index.having("n") == [words[key] for key in sorted(words) if "n" in words[key]]
