"""Job names as templates with numbers: `tune-0042` and `tune-0043` are one template and two integers."""

import re
from collections.abc import Sequence

from muster.forecast.page.packing import Columns

DIGITS = re.compile("([0-9]{1,9})")
TEMPLATES_SHARE_MAX = 0.1
Template = tuple[str | int, ...]
"""Texts, and the number of digits for each number."""


def add_names(columns: Columns, names: Sequence[str]) -> list[list[str | int]]:
    """Adds the names and returns their templates, which belong in the header.

    `names.template` holds each name's template. `names.0` holds the first number of each name that has one,
    minus the same number of the previous name with that template; `names.1` the second, and so on. Names
    without a pattern, such as random hexadecimal ones, are templates as a whole."""
    parts = [DIGITS.split(name) for name in names]  # text, digits, text, digits, text ...
    templates = [_template(split) for split in parts]
    numbers = [[int(digits) for digits in split[1::2]] for split in parts]
    if len(set(templates)) > max(1.0, len(names) * TEMPLATES_SHARE_MAX):
        templates, numbers = [(name,) for name in names], [[] for _ in names]
    index_of = {template: index for index, template in enumerate(dict.fromkeys(templates))}
    columns.add("names.template", (index_of[template] for template in templates))
    previous: dict[Template, list[int]] = {}
    fields: list[list[int]] = [[] for _ in range(max(map(len, numbers), default=0))]
    for template, values in zip(templates, numbers, strict=True):
        before = previous.get(template, [0] * len(values))
        for field, number, last in zip(fields, values, before, strict=False):
            field.append(number - last)
        previous[template] = values
    for place, field in enumerate(fields):
        columns.add(f"names.{place}", field)
    return [list(template) for template in index_of]


def _template(split: Sequence[str]) -> Template:
    return tuple(len(part) if place % 2 else part for place, part in enumerate(split))
