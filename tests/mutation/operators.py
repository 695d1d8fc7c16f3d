"""Mutation operators: each yields replacements for one node of a syntax tree.

Operators that only change the text of messages, log lines, type annotations or assertions are left out:
no behaviour depends on them. docs/mutation-testing.md lists what is mutated.
"""

import ast
from collections.abc import Callable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Operator = Callable[[ast.AST], Iterator[ast.AST]]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NEGATED_BY_COMPARISON = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
SEQUENCES = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr)


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """`<` and `<=`, `>` and `>=`, `==` and `!=`, `is` and `is not`, `in` and `not in` change places."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if swapped := COMPARISONS.get(type(operator)):
                operators = [*node.ops[:place], swapped(), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)


def boolean(node: ast.AST) -> Iterator[ast.AST]:
    """`and` and `or` change places."""
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def sign(node: ast.AST) -> Iterator[ast.AST]:
    """`not x` and `-x` become `x`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def condition(node: ast.AST) -> Iterator[ast.AST]:
    """The condition of `if`, `while`, a conditional expression or a comprehension is negated."""
    if isinstance(node, ast.If | ast.While | ast.IfExp) and _is_negated_nowhere_else(node.test):
        yield _copy(node, test=_not(node.test))
    if isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            if _is_negated_nowhere_else(test):
                yield _copy(node, ifs=[*node.ifs[:place], _not(test), *node.ifs[place + 1 :]])


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """`+` and `-`, `*` and `//`, `|` and `&` change places; `/` becomes `*`, `%` becomes `//`."""
    if not isinstance(node, ast.BinOp | ast.AugAssign):
        return
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    if any(_is_sequence(side) for side in sides):
        return
    if swapped := ARITHMETIC.get(type(node.op)):
        yield _copy(node, op=swapped())


def constant(node: ast.AST) -> Iterator[ast.AST]:
    """A number grows by one, True and False change places, a string without spaces becomes another."""
    if isinstance(node, ast.Constant):
        match node.value:
            case bool():
                yield ast.Constant(not node.value)
            case int() | float():
                yield ast.Constant(node.value + 1)
            case str() if not any(character.isspace() for character in node.value):
                yield ast.Constant(node.value + "-mutated")


def statement(node: ast.AST) -> Iterator[ast.AST]:
    """A call, an augmented assignment, an assignment to an attribute or item, or a jump is removed."""
    match node:
        case ast.Expr(value=ast.Call() as call) if not _logs(call):
            yield ast.Pass()
        case ast.Expr(value=ast.Await()) | ast.AugAssign() | ast.Delete() | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield ast.Pass()
        case ast.Continue() | ast.Break():
            yield ast.Pass()


def returned(node: ast.AST) -> Iterator[ast.AST]:
    """`return x` becomes `return None`, but for the constants None, True and False."""
    if isinstance(node, ast.Return) and node.value is not None and not _is_flag(node.value):
        yield ast.Return(ast.Constant(None))


def function(node: ast.AST) -> Iterator[ast.AST]:
    """`min` and `max`, `any` and `all` change places."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        yield ast.Call(ast.Name(FUNCTIONS[node.func.id], ast.Load()), node.args, node.keywords)


OPERATORS: tuple[Operator, ...] = (
    comparison,
    boolean,
    sign,
    condition,
    arithmetic,
    constant,
    statement,
    returned,
    function,
)


def _copy(node: Node, **changed: object) -> Node:
    return type(node)(**{**dict(ast.iter_fields(node)), **changed})


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_negated_nowhere_else(test: ast.expr) -> bool:
    """Whether no other operator already negates this condition."""
    if isinstance(test, ast.UnaryOp):
        return not isinstance(test.op, ast.Not)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return not isinstance(test.ops[0], NEGATED_BY_COMPARISON)
    return True


def _is_flag(node: ast.expr) -> bool:
    """Whether it is None, True or False: the operator for constants changes the latter."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _is_sequence(node: ast.expr) -> bool:
    """Whether the operand is a sequence or text, which only supports `+`."""
    return isinstance(node, SEQUENCES) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _logs(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "log"
