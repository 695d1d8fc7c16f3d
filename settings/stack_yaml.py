"""Reads the YAML of stack files as Pulumi does: keys are text, and each occurs once in its mapping."""

from collections.abc import Hashable
from typing import Any

import yaml

NODES_MAX = 100_000
"""Values in a stack file with all aliases expanded. The largest stack of the tests has a few thousand."""


class StackFileLoader(yaml.SafeLoader):
    """Raises a YAMLError for a key that a mapping has twice, of which YAML libraries keep the last one, and
    for aliases that expand a small file into a large value."""

    def get_single_node(self) -> Any:
        """Returns the document's node after a look at what its aliases expand to."""
        node = super().get_single_node()
        if node is not None and _expanded(node, {}) > NODES_MAX:
            raise _error(f"its aliases (`*…`) expand it to more than {NODES_MAX} values", node)
        return node

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


def _expanded(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Returns the number of values below a node, with the value of each alias counted again; 0 for an alias
    of a node that contains it, which another check refuses."""
    if (known := sizes.get(id(node))) is not None:
        return known
    sizes[id(node)] = 0
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    size = 1 + sum(_expanded(part, sizes) for part in parts)
    sizes[id(node)] = size
    return size


def _error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
