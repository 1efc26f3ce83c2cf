"""Stubs: what callers use. One class is made per signature, with one port per operation.

A stub's method does nothing but call its *port*, so a call through a binding costs one Python call
more than a plain method call. The membrane decides what sits in a port: the content's own method,
a chain of interceptors, a request queue, a transport.
"""

from __future__ import annotations

import abc
import inspect
import itertools
import linecache
from collections.abc import Callable, Hashable
from functools import cache
from inspect import Parameter as Kinds
from typing import Any, ClassVar, SupportsIndex, cast

from gcm.errors import GcmError
from gcm.interfaces.signature import Operation, signature_of

STUB_FILE = "<stub of "
"""The prefix of the file name of every generated method; a stack walker knows stubs by it."""

_serial = itertools.count(1)


class Stub:
    """The base of all generated stubs.

    A stub stands for a component, so it is never copied: by-value arguments carry the reference.
    Its own names begin with an underscore, because every public name may be that of an operation.
    """

    __slots__ = ("_end",)
    _operations: ClassVar[tuple[str, ...]] = ()

    def __init__(self, end: Any) -> None:
        self._end = end

    def _port(self, operation: str) -> Callable[..., Any]:
        """Return the present port of `operation`."""
        port: Callable[..., Any] = getattr(self, port_name(operation))
        return port

    def _set_port(self, operation: str, port: Callable[..., Any]) -> None:
        """Make `port` the port of `operation` from the next call on."""
        setattr(self, port_name(operation), port)

    def __copy__(self) -> Stub:
        """Return this very stub: a reference has no copies."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Stub:
        """Return this very stub: a reference has no copies."""
        return self

    def __repr__(self) -> str:
        return f"<stub of {self._end}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Refuse to be pickled: only a transport knows how to name the component elsewhere."""
        raise GcmError(
            f"the stub of {self._end} cannot be pickled: it stands for a component of this process",
            cure="Pass it in a call to another component; its transport carries the reference",
        )


def port_name(operation: str) -> str:
    """Return the name of the slot that holds the port of `operation`."""
    return f"_port_{operation}"


def stub_class(interface: type[Any]) -> type[Stub]:
    """Return the stub class of a signature; it is made once.

    Raises:
        IllegalTypeError: `interface` is not usable as a signature.
    """
    return _made(cast(Hashable, interface))


@cache
def _made(interface: Any) -> type[Stub]:
    signature = signature_of(interface)
    names = tuple(signature.operations)
    source = "\n".join(_method_source(op) for op in signature.operations.values())
    file = f"{STUB_FILE}{interface.__module__}.{interface.__qualname__} #{next(_serial)}>"
    methods = compiled(source, file)
    members: dict[str, Any] = {
        "__slots__": tuple(port_name(name) for name in names),
        "__module__": interface.__module__,
        "__doc__": f"Calls {interface.__qualname__} through a binding.",
        "_operations": names,
    }
    for name in names:
        method: Any = methods[name]
        original = getattr(interface, name)
        method.__doc__ = original.__doc__
        method.__qualname__ = f"{interface.__qualname__}.{name}"
        method.__signature__ = inspect.signature(original)
        members[name] = method
    made = type(f"{interface.__name__}Stub", (Stub,), members)
    if isinstance(interface, abc.ABCMeta) and not getattr(interface, "_is_protocol", False):
        interface.register(made)
    return made


def _method_source(operation: Operation) -> str:
    """Return the source of a method that hands exactly the given arguments to its port."""
    heads, hands = spelled(operation)
    own = "self, /" if heads.startswith("*args") else "self"
    port = unused("port", operation)
    return (
        f"def {operation.name}({', '.join(filter(None, (own, heads)))}):\n"
        # A local name is found faster than an attribute is told from a method.
        f"    {port} = self.{port_name(operation.name)}\n"
        f"    return {port}({hands})\n"
    )


def spelled(operation: Operation) -> tuple[str, str]:
    """Return the parameters of `operation`, and the arguments that pass exactly these on.

    >>> spelled(signature_of(Greeter).operations["greet"])    # doctest: +SKIP
    ('name', 'name')
    """
    heads: list[str] = []
    hands: list[str] = []
    keyword_only = False
    for parameter in operation.parameters:
        if parameter.has_default or parameter.kind in (Kinds.VAR_POSITIONAL, Kinds.VAR_KEYWORD):
            # What the caller left out must stay left out, so that the server's own default applies.
            return "*args, **kwargs", "*args, **kwargs"
        if parameter.kind is Kinds.KEYWORD_ONLY:
            if not keyword_only:
                heads.append("*")
                keyword_only = True
            hands.append(f"{parameter.name}={parameter.name}")
        else:
            hands.append(parameter.name)
        heads.append(parameter.name)
    return ", ".join(heads), ", ".join(hands)


def unused(name: str, operation: Operation) -> str:
    """Return `name`, lengthened until no parameter of `operation` has it."""
    while any(parameter.name == name for parameter in operation.parameters):
        name += "_"
    return name


def compiled(source: str, file: str, **known: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions that `source` defines, using what is `known` to it by name.

    Tracebacks show its lines as those of `file`.
    """
    namespace: dict[str, Any] = dict(known)
    exec(compile(source, file, "exec"), namespace)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    del namespace["__builtins__"]
    return namespace
