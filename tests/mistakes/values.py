"""Single mistakes in names and values: typos, boundaries, other units and types."""

import re
import string
from random import Random
from typing import Any

BOUNDARIES: tuple[int | float, ...] = (0, 1, -1, 2, 10**3, 10**6, 2**31 - 1, 2**31, 2**63, 0.5, 1e400)
ODD_TEXTS = ("", " ", "-", "null", "none", "example.com", "ä", "x" * 300, "../..", "a\nb", "{{ x }}", "0")
UNITS = ("", "m", "k", "M", "Gi", "Ki", "G", "i", "GB")


def misspelt(word: str, random: Random) -> str:
    """Returns the word with one typo: a letter dropped, doubled, replaced, swapped, in capitals, or added."""
    if not word:
        return "x"
    place = random.randrange(len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    other = random.choice(string.ascii_lowercase)
    return random.choice(
        (
            before + after,
            before + letter * 2 + after,
            before + other + after,
            before + after[:1] + letter + after[1:],
            before + letter.swapcase() + after,
            f"{word}s",
            f"{word} ",
            word.replace("-", "_"),
            word.replace("_", "-"),
            word.upper(),
        )
    )


def boundary(value: Any, random: Random) -> Any:
    """Returns a value at a boundary of the type, or one of another size or unit."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return random.choice((*BOUNDARIES, value * 10, value * 1000, value + 1, value - 1, -value))
    if isinstance(value, str) and (number := re.match("[0-9]+", value)):
        return random.choice((number[0] + random.choice(UNITS), f"-{value}", f"{value}0", int(number[0])))
    return random.choice(ODD_TEXTS) if isinstance(value, str) else type(value)()


def of_another_type(value: Any, random: Random) -> Any:
    """Returns the value as another type: in a list or mapping, as text or truth value, or nothing."""
    return random.choice(([value], {"name": value}, str(value), None, True, 7, 0.25, [], {}))
