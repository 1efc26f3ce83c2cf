"""Find the small faults that a mutation run plants in a source file, as text replacements.

Each mutant replaces one piece of the source and leaves the rest as it is. Pieces that no test can
or should tell apart are left alone: annotations, docstrings, decorators, `if TYPE_CHECKING:`,
assertions, log calls and the inside of f-strings.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
Node = TypeVar("Node", bound=ast.AST)
LOGGERS = frozenset({"log", "logger", "_log", "_logger", "logging", "warnings"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One planted fault: the bytes from `start` to `end` of `file` become `replacement`."""

    file: str
    line: int
    start: int
    end: int
    original: str
    replacement: str

    def apply(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]

    def __str__(self) -> str:
        """Return what a person needs to find and understand the fault."""
        return (
            f"{self.file}:{self.line}: {_one_line(self.original)} -> {_one_line(self.replacement)}"
        )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:67]}..."


def find_mutants(source: bytes, file: str) -> list[Mutant]:
    """Return every mutant of a source file, in the order of its lines."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node, replacement in _faults(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        original = source[start:end].decode()
        found.add(Mutant(file, node.lineno, start, end, original, replacement))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.replacement))


def _faults(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in _worth_mutating(tree):
        for condition in _conditions(node):
            if not isinstance(condition, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
                yield condition, f"(not {ast.unparse(condition)})"
        if isinstance(node, ast.stmt):
            yield from ((node, other) for other in _other_statements(node))
        elif isinstance(node, ast.expr):
            yield from ((node, f"({ast.unparse(other)})") for other in _other_expressions(node))


def _worth_mutating(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the tree, passing by what is not worth a mutant."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_passed_by(child):
                yield child
                yield from _worth_mutating(child)


def _is_passed_by(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or the `...` of an empty body
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in LOGGERS
        case ast.MatchValue(value=value):  # a pattern allows no more than a plain constant
            return not isinstance(value, ast.Constant)
        case ast.If(test=test):
            condition = ast.unparse(test)
            return "TYPE_CHECKING" in condition or "__name__" in condition
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec" | "NewType"))):
            return True
    return False


def _conditions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.comprehension(ifs=tests):
            return tests
    return []


def _other_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield "pass"
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return None"
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "continue"
        case ast.AugAssign(op=operator):
            if other := ARITHMETIC.get(type(operator)):
                yield ast.unparse(_changed(node, op=other()))


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=comparisons):
            for index, comparison in enumerate(comparisons):
                for opposite in COMPARISONS[type(comparison)]:
                    yield _changed(
                        node, ops=[*comparisons[:index], opposite(), *comparisons[index + 1 :]]
                    )
        case ast.BoolOp(op=ast.And()):
            yield _changed(node, op=ast.Or())
        case ast.BoolOp():
            yield _changed(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=operator):
            if other := ARITHMETIC.get(type(operator)):
                yield _changed(node, op=other())
        case ast.Constant(value=value):
            for constant in _other_constants(value):
                yield ast.Constant(constant)


def _other_constants(value: object) -> Iterator[str | bytes | bool | int | float]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
            yield value - 1
        case str():
            yield f"{value}~"
        case bytes():
            yield value + b"~"


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _changed(node: Node, **fields: object) -> Node:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other
