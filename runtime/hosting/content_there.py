"""The object of a primitive in a node process, as whoever has the mirror sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from numbers import Number
from typing import Any, NoReturn

from gcm.interfaces.interface import Interface
from gcm.interfaces.stub import Stub

Touch = Callable[[tuple[str, ...], str, tuple[Any, ...], dict[str, Any]], Any]
"""Does something to what a path of attributes leads to: `read`, `write`, `call` or `show` it."""

DATA = (type(None), Number, Collection, Enum, BaseException, type, Stub, Interface)
"""What is copied, or is a reference already."""


class Unsent:
    """Stands for a value that stays where it is."""


class ContentThere:
    """An object in a node process: data is copied from there, all else is left there.

    A lock, an event or a method is used through such a reference: what is called runs in the node
    process, and the caller waits. It is no value: to compare or to iterate it is an error.
    Operations of the interfaces belong to stubs, which membranes know of; this is for looking at a
    component, and for tests.

    >>> worker = primitive(Worker, node=node)                     # doctest: +SKIP
    >>> worker.content.done, worker.content.finished.wait(1.0)    # doctest: +SKIP
    (['a', 'b'], True)
    """

    __slots__ = ("__names", "__touch")

    def __init__(self, touch: Touch, names: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "_ContentThere__touch", touch)
        object.__setattr__(self, "_ContentThere__names", names)

    def __getattr__(self, name: str) -> Any:
        """Return a copy of data, or a reference to what else an attribute is."""
        if name.startswith("__"):  # what copies, pickles and inspects objects asks for these
            raise AttributeError(name)
        names = (*self.__names, name)
        found = self.__touch(names, "read", (), {})
        return ContentThere(self.__touch, names) if found is Unsent else found

    def __setattr__(self, name: str, value: Any) -> None:
        """Give an attribute a copy of a value."""
        self.__touch((*self.__names, name), "write", (value,), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it there; what comes back is a copy."""
        return self.__touch(self.__names, "call", args, kwargs)

    def __repr__(self) -> str:
        """Return how it shows itself there."""
        return f"<elsewhere: {self.__touch(self.__names, 'show', (), {})}>"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"{self!r} stays in the process of its component, and is no value here. Call a method "
            "of it, or read an attribute that is data"
        )

    __eq__ = __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __array__ = _refuse
    __reduce_ex__ = _refuse  # it is not copied, nor sent in a call
    __hash__ = None  # type: ignore[assignment]  # as of all that is compared by value


def touched(
    content: Any, names: tuple[str, ...], act: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do what a `ContentThere` is asked for, where the object is."""
    for name in names[:-1]:
        content = getattr(content, name)
    if act == "write":
        setattr(content, names[-1], *args)
        return None
    found = getattr(content, names[-1]) if names else content
    if act == "call":
        return found(*args, **kwargs)
    if act == "show":
        return repr(found)
    return found if isinstance(found, DATA) else Unsent
