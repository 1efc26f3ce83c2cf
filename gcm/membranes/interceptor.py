"""The `interceptor` controller: code that runs before and after the calls of an interface."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

from gcm.components.controller import Controller, Port
from gcm.components.model import Component
from gcm.errors import IllegalTypeError
from gcm.interfaces.interface import Interface
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation
from gcm.membranes.around import End, around, raise_end


class Interceptor(Protocol):
    """The interface of interceptors; an object of the membrane or a non-functional component."""

    def before(self, call: Invocation) -> None:
        """Act before the call; an exception refuses it."""

    def after(self, call: Invocation, error: BaseException | None) -> None:
        """Act after the call returned, or after it raised `error`."""


class Where(StrEnum):
    """The interfaces that an interceptor is put on, other than one by its name."""

    ALL = "*"
    SERVERS = "*server"
    CLIENTS = "*client"


class InterceptorController(Controller):
    """Keeps the interceptors of the component, in the order in which they act before a call."""

    __slots__ = ("_placed",)
    name = "interceptor"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._placed: list[tuple[str, Interceptor]] = []

    def add(self, interceptor: Interceptor, where: str = Where.ALL) -> None:
        """Put `interceptor` on one interface by name, or on a group of them (see `Where`).

        The name of a collection means all its members.

        Raises:
            IllegalTypeError: the object has no `before` and `after`.
            NoSuchInterfaceError: there is no interface of that name.
        """
        self._require_interceptor(interceptor)
        declared = {known.name for known in self.component.type.interfaces}
        if where not in declared.union(Where) and self.component.type.find(where) is None:
            self.component.interface(where)
        self._placed.append((where, interceptor))
        self.component.rewire()

    def _require_interceptor(self, given: object) -> None:
        lacks = [name for name in ("before", "after") if not callable(getattr(given, name, None))]
        if not lacks and not isinstance(given, type):
            return
        raise IllegalTypeError(
            f"{given!r} is not an interceptor: "
            + (f"it has no {' and no '.join(lacks)}" if lacks else "it is a class"),
            component=self.component.path,
            cure="Pass an object with before(call) and after(call, error)",
        )

    def remove(self, interceptor: Interceptor) -> None:
        """Remove `interceptor` from every interface."""
        self._placed = [(place, known) for place, known in self._placed if known is not interceptor]
        self.component.rewire()

    def placed(self, where: str = "") -> list[Interceptor]:
        """Return the interceptors, or only those that were put on `where`."""
        return [known for place, known in self._placed if not where or place == where]

    def acting_on(self, interface: InterfaceType) -> list[Interceptor]:
        """Return the interceptors that calls of `interface` meet, in the order they act before."""
        group = Where.CLIENTS if interface.is_client else Where.SERVERS
        declared = self.component.type.find(interface.name)
        places = {Where.ALL, group, interface.name, declared.name if declared else ""}
        return [known for place, known in self._placed if place in places]

    def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
        """Put the interceptors of the interface around its calls."""
        chosen = [] if interface.internal else self.acting_on(interface.type)
        if not chosen:
            return proceed
        return intercepted(chosen, self.component.path, interface.name, operation, proceed)


def intercepted(
    interceptors: Sequence[Interceptor], path: str, interface: str, operation: str, proceed: Port
) -> Port:
    """Return a port that runs `interceptors` around `proceed`, backwards after the call."""

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> End:
        call = Invocation(path, interface, operation, args, kwargs)
        entered: list[Interceptor] = []

        def end(error: BaseException | None) -> BaseException | None:
            for interceptor in reversed(entered):
                try:
                    interceptor.after(call, error)
                except BaseException as own:  # the outer ones must still see the end of the call
                    error = own
            return error

        try:
            for interceptor in interceptors:
                interceptor.before(call)
                entered.append(interceptor)
        except BaseException as error:
            raise_end(end, error)
        return end

    return around(proceed, begin)
