"""Reads the YAML of stack files as Pulumi does: keys are text, and each occurs once in its mapping."""

from collections.abc import Hashable
from typing import Any

import yaml


class StackFileLoader(yaml.SafeLoader):
    """Raises a YAMLError for a key that a mapping has twice, of which YAML libraries keep the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Returns the mapping with its keys as they are written: `on` and `1` are names, as all keys are."""
        names = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _error("a key is no plain text", key)
            if key.value in names:
                raise _error(f"the key {key.value!r} occurs twice", key)
            names.add(key.value)
        self.flatten_mapping(node)  # of `<<: *alias`, whose keys may occur again
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


def _error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
