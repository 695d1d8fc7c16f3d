"""Records of several processes count as one recording."""

from tests.mutation.mutants import Mutant
from tests.mutation.recording import Recording, joined

FILE = "muster/admission/nodes.py"


def test_the_tests_of_all_parts_are_chosen_from() -> None:
    parts = [
        Recording({"a::one": 0.1, "a::two": 0.2}, {FILE: {"1": [1], "2": [0, 1]}}, ["a::one", "a::two"]),
        Recording({"b::one": 0.3}, {FILE: {"2": [0], "3": [0]}, "other.py": {"2": [0]}}, ["b::one"]),
    ]
    whole = joined(parts)
    assert whole.seconds == {"a::one": 0.1, "a::two": 0.2, "b::one": 0.3}
    chosen = [whole.choose(Mutant(FILE, 0, "", line, line))[0] for line in (1, 2, 3, 4)]
    assert chosen == [{"a::two"}, {"a::one", "a::two", "b::one"}, {"b::one"}, set()]
