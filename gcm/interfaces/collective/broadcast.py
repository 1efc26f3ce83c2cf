"""The loop of a multicast that gives every server the same arguments, written out for speed.

Each call in it costs as much as a plain one: packing and unpacking the arguments for each server
would double that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import FrameType
from typing import Any

from gcm.interfaces.distribution import dispatch_of
from gcm.interfaces.going_on import LOOP_FILE, Elsewhere, GoOn, Handed, Located, interrupt
from gcm.interfaces.signature import signature_of
from gcm.interfaces.stub import compiled, spelled, unused

Port = Callable[..., Any]

Outcome = tuple[list[Any], dict[int, BaseException]]
"""The result of each call, None for a failed one, and the failures by the number of the call."""


def broadcast_port(
    owner: Located,
    interface: Any,
    operation: str,
    ports: Sequence[Port],
    fail: Callable[[list[Any], dict[int, BaseException]], None],
) -> Port:
    """Return a port that calls all `ports` and returns the reduced results.

    `interface` is the signature of the multicast interface that `owner` has.

    If some of them raise, `fail` is called with all results and failures, to report them.
    """
    dispatch = dispatch_of(interface, operation)
    elsewhere = Elsewhere(owner, operation, _unknown)
    make = _maker(interface, operation, dispatch.lists_results)
    port, loop = make(ports, fail, dispatch.reduce, elsewhere)
    elsewhere.how = partial(_again, loop)
    return port


@cache
def _maker(interface: Any, operation: str, lists_results: bool) -> Callable[..., tuple[Port, Port]]:
    """Return what makes the port of an operation and the loop in it."""
    declared = signature_of(interface).operations[operation]
    heads, hands = spelled(declared)
    port, results, append, failures, error, ports, fail, reduce, loop = (
        unused(name, declared)
        for name in (
            "port", "results", "append", "failures", "error", "ports", "fail", "reduce", "loop",
        )
    )  # fmt: skip
    outcome = results if lists_results else f"{reduce}({results})"
    source = f"""\
def make({ports}, {fail}, {reduce}, gcm_elsewhere):
    def {loop}(gcm_left, {heads}):
        gcm_items = iter(gcm_left)
        gcm_handed = []
        {results} = []
        {append} = {results}.append
        {failures} = {{}}
        try:
            for {port} in gcm_items:
                try:
                    {append}({port}({hands}))
                except Exception as {error}:
                    {failures}[len({results})] = {error}
                    {append}(None)
            if gcm_handed:
                return gcm_joined(gcm_elsewhere, {results}, {failures}, gcm_handed)
        except BaseException:
            gcm_interrupt(gcm_handed)
            raise
        return {results}, {failures}
    def {operation}({heads}):
        {results}, {failures} = {loop}({ports}, {hands})
        if {failures}:
            {fail}({results}, {failures})
        return {outcome}
    return {operation}, {loop}
"""
    file = f"{LOOP_FILE}{interface.__module__}.{interface.__qualname__}.{operation}>"
    return compiled(source, file, gcm_joined=_joined, gcm_interrupt=interrupt)["make"]


def _joined(
    _: Elsewhere,
    results: list[Any],
    failures: dict[int, BaseException],
    handed: Sequence[Handed],
) -> Outcome:
    """Return the outcome of all calls: those made here, then those handed to another thread."""
    for future in handed:
        more, failed = future.result()
        failures.update((len(results) + n, error) for n, error in failed.items())
        results += more
    return results, failures


def _again(loop: Port, frame: FrameType, left: list[Any]) -> GoOn:
    """Return how to call `loop` for the remaining items, with the arguments it has in `frame`."""
    code, known = frame.f_code, frame.f_locals
    given, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    args = [known[name] for name in code.co_varnames[1:given]]
    kwargs = {name: known[name] for name in code.co_varnames[given:named]}
    if code.co_flags & inspect.CO_VARARGS:  # then they are `*args, **kwargs`
        args += known["args"]
        kwargs |= known["kwargs"]
    return loop, (left, *args), kwargs


def _unknown(frame: FrameType, left: list[Any]) -> GoOn:
    raise AssertionError(f"the loop of {frame} was not made yet for {left}")
