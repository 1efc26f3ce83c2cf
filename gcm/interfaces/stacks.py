"""Frames that tell a stack walker who is inside a component and who still waits before it.

A call through a stub leaves the frame of the stub's method on the stack of its thread. Three more
kinds of frames mark what such a frame cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from gcm.interfaces.stub import Stub

T = TypeVar("T")


def through(
    stub: Stub,
    operation: str,
    send: Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], T],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> T:
    """Send a call to the port of `operation`, visible as if the method of the stub were running.

    The port is looked up within this frame: an exchange afterwards sees this call.
    """
    return send(stub._port(operation), args, kwargs)


def inside(
    component: object,  # noqa: ARG001 - read from the frame by the stack walker
    operation: object,  # noqa: ARG001 - likewise
    port: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> T:
    """Call `port` for `component` on a thread that did not come in through one of its stubs."""
    return port(*args, **kwargs)
