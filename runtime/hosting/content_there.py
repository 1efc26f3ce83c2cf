"""The object of a primitive in a node process, as whoever has the mirror sees it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from gcm.interfaces.interface import Interface
from gcm.interfaces.stub import Stub

Touch = Callable[[tuple[str, ...], str, tuple[Any, ...], dict[str, Any]], Any]
"""Does something to what a path of attributes leads to: `read`, `write`, `call` or `show` it."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset,
          Enum, BaseException, type, Stub, Interface)  # fmt: skip


class Unsent:
    """Stands for a value that stays where it is."""


class ContentThere:
    """An object in a node process: plain values are copied from there, all else is left there.

    A lock, an event or a method is used through such a reference: what is called runs in the node
    process, and the caller waits. Operations of the interfaces belong to stubs, which membranes
    know of; this is for looking at a component, and for tests.

    >>> worker = primitive(Worker, node=node)                     # doctest: +SKIP
    >>> worker.content.done, worker.content.finished.wait(1.0)    # doctest: +SKIP
    (['a', 'b'], True)
    """

    __slots__ = ("_names", "_touch")

    def __init__(self, touch: Touch, names: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "_touch", touch)
        object.__setattr__(self, "_names", names)

    def __getattr__(self, name: str) -> Any:
        """Return a copy of a plain value, or a reference to what else an attribute is."""
        if name.startswith("__"):  # what copies, pickles and inspects objects asks for these
            raise AttributeError(name)
        names = (*self._names, name)
        found = self._touch(names, "read", (), {})
        return ContentThere(self._touch, names) if found is Unsent else found

    def __setattr__(self, name: str, value: Any) -> None:
        """Give an attribute a copy of a value."""
        self._touch((*self._names, name), "write", (value,), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it there; what comes back is a copy."""
        return self._touch(self._names, "call", args, kwargs)

    def __repr__(self) -> str:
        """Return how it shows itself there."""
        return f"<elsewhere: {self._touch(self._names, 'show', (), {})}>"


def touched(
    content: Any, names: tuple[str, ...], act: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do what a `ContentThere` is asked for, where the object is."""
    *before, last = ("", *names)
    for name in before[1:]:
        content = getattr(content, name)
    if act == "write":
        setattr(content, last, *args)
        return None
    found = getattr(content, last) if last else content
    if act == "call":
        return found(*args, **kwargs)
    if act == "show":
        return repr(found)
    return found if isinstance(found, _PLAIN) else Unsent
