"""Reads in a line of source what it calls: mpi4py's own waits have no frame that would tell.

The stack gives the part of the line that is executed. Where the source cannot be read nothing is
known, and the thread counts as one that computes.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from types import FrameType

from runtime import calls

_WAITS = calls.of_kind("wait", of=calls.OF_REQUESTS)
_BEGINS = calls.of_kind(
    "send", "receive", "exchange", "collective", "copy", how=(calls.BEGUN, calls.PERSISTENT)
)

_OF_THREADS = ("threading.py", "queue.py", "concurrent/futures/_base.py")
"""Files of Python in which threads wait for other threads of their process."""

_UNTIMED = "waiter.acquire()"
"""The line of `threading.Condition.wait` that waits for as long as it takes."""


def wait_in_line(frame: FrameType) -> tuple[str, str] | None:
    """Return the wait for a request that a line calls, and the call that began the request.

    The latter is known in `comm.Ibarrier().Wait()`, and for a variable or attribute to which the
    results of such calls alone are assigned; "" elsewhere. None if the line calls no wait.
    """
    call = _called_by(frame)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in _WAITS:
        return None
    of = call.func.value
    return call.func.attr, _begun_in(of) or _assigned_to(of, frame)


def waits_for_a_thread(frame: FrameType) -> bool:
    """Return whether a frame is in a wait of Python's for another thread, and without a limit."""
    one: FrameType | None = frame
    if not frame.f_code.co_filename.endswith(_OF_THREADS):
        return False
    if linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() == _UNTIMED:
        return True
    while one is not None and one.f_code.co_filename.endswith(_OF_THREADS):
        one = one.f_back
    call = None if one is None else _called_by(one)
    return call is not None and not call.args and not call.keywords  # such as `thread.join()`


def _called_by(frame: FrameType) -> ast.Call | None:
    """Return the call that a frame is executing, as source; None if it is none or unknown."""
    place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    first, last, column, end = place or (None, None, None, None)
    if first is None or last is None or column is None or end is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename)[first - 1 : last]
    if not lines:
        return None
    lines[-1] = lines[-1].encode()[:end].decode(errors="replace")
    lines[0] = lines[0].encode()[column:].decode(errors="replace")
    try:
        parsed = ast.parse(f"({''.join(lines)})", mode="eval").body
    except SyntaxError:  # the file has changed since it was loaded
        return None
    if not isinstance(parsed, ast.Call):
        return None
    if isinstance(parsed.func, ast.Name):  # of `begun(\n...\n).Wait()` that is the last line alone
        return _calls_by_end(frame.f_code.co_filename).get((last, end), parsed)
    return parsed


@lru_cache(maxsize=32)
def _calls_by_end(file: str) -> dict[tuple[int | None, int | None], ast.Call]:
    """Return the calls in a file by the line and the column of their ends."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return {}
    calls_of = (one for one in ast.walk(tree) if isinstance(one, ast.Call))
    return {(one.end_lineno, one.end_col_offset): one for one in calls_of}


def _begun_in(value: ast.expr) -> str:
    """Return the call that makes a request, "" if an expression is none."""
    if isinstance(value, ast.Subscript):  # of `comm.Idup()[1]`
        value = value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr if value.func.attr in _BEGINS else ""
    return ""


def _assigned_to(target: ast.expr, frame: FrameType) -> str:
    """Return the call whose result alone is assigned to a variable or attribute, or ""."""
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return ""
    spelled = ast.unparse(target)
    found = {
        _begun_in(value)
        for name, value in _assignments(frame.f_code.co_filename, frame.f_code.co_firstlineno)
        if name == spelled
    }
    return found.pop() if len(found) == 1 else ""


@lru_cache(maxsize=32)
def _assignments(file: str, first: int) -> list[tuple[str, ast.expr]]:
    """Return what the function that begins in a line of a file assigns: targets and values."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    scope: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _begins(node) == first:
            scope = node
    return list(_assigned_in(scope, tree))


def _assigned_in(scope: ast.AST, tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute):  # of an object that others may have set
                yield ast.unparse(target), node.value  # type: ignore[attr-defined]
    plain: set[ast.expr] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    plain.add(target)
                    yield target.id, node.value
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in plain:
            yield node.id, node  # by a loop, or as one of several: any request
        elif isinstance(node, ast.arg):
            yield node.arg, ast.Name(node.arg)


def _begins(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min(node.lineno, *(one.lineno for one in node.decorator_list), node.lineno)
