"""The loop of a multicast that gives every server the same arguments, written out for speed.

Each call in it costs as much as a plain one: packing and unpacking the arguments for each server
would double that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from gcm.interfaces.distribution import dispatch_of
from gcm.interfaces.going_on import Elsewhere, Handed, Located, here, interrupt
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
    make = _maker(interface, operation, dispatch.lists_results)
    port: Port = make(ports, fail, dispatch.reduce, Elsewhere(owner, operation))
    return port


@cache
def _maker(interface: Any, operation: str, lists_results: bool) -> Callable[..., Port]:
    """Return what makes the port of an operation."""
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
        gcm_casts = gcm_here.casts
        gcm_again = lambda gcm_left: {loop}(gcm_left, {hands})
        gcm_casts.append((gcm_items, gcm_handed, gcm_elsewhere, gcm_again))
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
                return gcm_joined({results}, {failures}, gcm_handed)
        except BaseException:
            gcm_interrupt(gcm_handed)
            raise
        finally:
            gcm_casts.pop()
        return {results}, {failures}
    def {operation}({heads}):
        {results}, {failures} = {loop}({ports}, {hands})
        if {failures}:
            {fail}({results}, {failures})
        return {outcome}
    return {operation}
"""
    file = f"<multicast of {interface.__module__}.{interface.__qualname__}.{operation}>"
    known = {"gcm_here": here, "gcm_joined": _joined, "gcm_interrupt": interrupt}
    return compiled(source, file, **known)["make"]


def _joined(
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
