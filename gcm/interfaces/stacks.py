"""Frames that tell a stack walker who is inside a component and who still waits before it.

A call through a stub leaves the frame of the stub's method on the stack of its thread. Three more
kinds of frames mark what such a frame cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from gcm.components.model import Component
    from gcm.interfaces.stub import Stub

P = ParamSpec("P")
T = TypeVar("T")


def through(
    stub: Stub,  # noqa: ARG001 - read from the frame by the stack walker
    operation: str,
    send: Callable[[str], T],
) -> T:
    """Call `send` for `operation` of `stub`, visible as if the method of the stub were running."""
    return send(operation)


def inside(
    component: Component,  # noqa: ARG001 - read from the frame by the stack walker
    operation: object,  # noqa: ARG001 - likewise
    port: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> T:
    """Call `port` for `component` on a thread that did not come in through one of its stubs."""
    return port(*args, **kwargs)


def outside(wait: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `wait` for a call that has reached its stub but has not entered the component yet."""
    return wait(*args, **kwargs)
