"""Stubs for the callers of a contract, and the dispatch table by which a call finds its method."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast

from runtime.errors import GridError
from runtime.machine.contracts import CONTRACTS, Reports

C = TypeVar("C")

Send = Callable[[str, str, tuple[Any, ...]], None]
"""Sends the call of an operation of an interface, with its arguments."""


class CallRefused(GridError):
    """A call has no method in this process, or its sender may not make it."""


@cache
def operations(contract: Hashable) -> tuple[str, ...]:
    """Return the operations of a contract, those of its bases first.

    >>> from runtime.machine.contracts import Views
    >>> operations(Views)
    ('view', 'lost', 'collected')
    """
    found = {
        name: None
        for base in reversed(cast(type, contract).__mro__)
        for name, member in vars(base).items()
        if base in CONTRACTS and callable(member) and name[0] != "_"
    }
    return tuple(found)


def stub(contract: type[C], send: Send) -> C:
    """Return an object with the operations of a contract, which sends their calls.

    >>> from runtime.machine.contracts import Views
    >>> stub(Views, lambda *call: print(call)).view(b"table")
    ('views', 'view', (b'table',))
    """
    return cast(C, _stub_class(cast(Hashable, contract))(send))


def reports_of(name: str, send: Send) -> Reports:
    """Return what a front-end calls of the launcher, in the name of its cluster.

    >>> reports_of("0:1#3", lambda *call: print(call)).failed("ranks:0:1", "no mpiexec")
    ('reports', 'failed', ('0:1#3', 'ranks:0:1', 'no mpiexec'))
    """
    return stub(
        Reports, lambda interface, operation, args: send(interface, operation, (name, *args))
    )


class Sometimes:
    """An object that is not always there, and has some operations: meanwhile they do nothing."""

    def __init__(self, find: Callable[[], object], *operations: str) -> None:
        self._find = find
        self._operations = operations

    def method(self, operation: str) -> Callable[..., None] | None:
        """Return what calls an operation of the present object; None if it has no such one."""

        def call(*args: Any) -> None:
            if (present := self._find()) is not None:
                getattr(present, operation)(*args)

        return call if operation in self._operations else None


def _method(owner: object, operation: str) -> Callable[..., None] | None:
    if isinstance(owner, Sometimes):
        return owner.method(operation)
    return getattr(owner, operation, None)


class DispatchTable:
    """The methods that a process serves: the one place where names become calls.

    >>> from runtime.machine.contracts import Views
    >>> class Printer:
    ...     def view(self, table): print("table", table)
    ...     def lost(self, reports): ...
    ...     def collected(self, *result): ...
    >>> dispatch = DispatchTable()
    >>> dispatch.serve(Views, Printer())
    >>> dispatch.call("views", "view", (b"",))
    table b''
    """

    __slots__ = ("_methods",)

    def __init__(self) -> None:
        self._methods: dict[tuple[str, str], Callable[..., None]] = {}

    def serve(self, contract: type[C], implementation: C) -> None:
        """Let calls of a contract reach an object that has its operations."""
        for operation in operations(cast(Hashable, contract)):
            self._methods[CONTRACTS[contract], operation] = getattr(implementation, operation)

    def share(self, contract: type, *owners: object) -> None:
        """Let each operation of a contract reach the one of several objects that has it.

        A `Sometimes` among them stands for an object that is not always there. Operations that none
        or several have are a fault of this package.
        """
        for operation in operations(cast(Hashable, contract)):
            found = [method for one in owners if (method := _method(one, operation)) is not None]
            assert len(found) == 1, f"{len(found)} objects serve {operation}"
            self._methods[CONTRACTS[contract], operation] = found[0]

    def call(self, interface: str, operation: str, args: tuple[Any, ...] = ()) -> None:
        """Call the method with these names.

        Raises:
            CallRefused: the table has no such operation.
        """
        method = self._methods.get((interface, operation))
        if method is None:
            raise CallRefused(
                f"nothing here serves {interface}.{operation}",
                cure="Both processes need the same version of this package",
            )
        method(*args)

    def __contains__(self, interface: object) -> bool:
        return any(known == interface for known, _ in self._methods)


@cache
def _stub_class(contract: Hashable) -> type[Any]:
    def method(operation: str) -> Callable[..., None]:
        def send(self: Any, *args: Any) -> None:
            self._send(interface, operation, args)

        return send

    def made(self: Any, send: Send) -> None:
        self._send = send

    interface = CONTRACTS[cast(type, contract)]
    methods: dict[str, Any] = {name: method(name) for name in operations(contract)}
    return type(f"{interface}-stub", (), {"__init__": made, **methods})
