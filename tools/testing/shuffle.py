"""A pytest plugin that runs tests in random order: `pytest -p tools.testing.shuffle --shuffle-seed=1`.

It shuffles the files, and the tests within each file, so that module-scoped fixtures are still created once.
"""

from random import Random

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle-seed", type=int, required=True, help="the same seed gives the same order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    random = Random(config.getoption("--shuffle-seed"))
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(str(item.path), []).append(item)
    order = sorted(files)
    random.shuffle(order)
    for path in order:
        random.shuffle(files[path])
    items[:] = [item for path in order for item in files[path]]
