"""Every error the component model raises: what happened, where, in which state, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class GcmError(Exception):
    """The root of all errors of the component model.

    The parts are attributes, so that a program can read them; the message joins them, so that a
    person can: what happened, then the component, interface and state it happened in, then the
    cure.
    """

    def __init__(
        self,
        what: str,
        *,
        component: str = "",
        interface: str = "",
        state: str = "",
        cure: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.component = component
        self.interface = interface
        self.state = state
        self.cure = cure

    def __str__(self) -> str:
        place = ", ".join(
            part
            for part in (
                f"component {self.component}" if self.component else "",
                f"interface '{self.interface}'" if self.interface else "",
                f"state {self.state}" if self.state else "",
            )
            if part
        )
        message = f"{self.what} [{place}]" if place else self.what
        return f"{message}. {self.cure}" if self.cure else message

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling with all parts."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[GcmError], args: tuple[Any, ...], state: dict[str, Any]) -> GcmError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class IllegalTypeError(GcmError):
    """An interface or component type that contradicts itself, with every fault listed."""


class NoSuchInterfaceError(GcmError):
    """A component has no interface of that name."""


class NoSuchControllerError(NoSuchInterfaceError):
    """A membrane has no controller of that name."""


class NoSuchComponentError(GcmError):
    """A composite has no sub-component of that name, or a path leads nowhere."""


class NoSuchAttributeError(GcmError):
    """A component has no attribute of that name, or the value does not fit it."""


class IllegalBindingError(GcmError):
    """A binding that violates the model."""


class IllegalContentError(GcmError):
    """A change of a composite's content that violates the model."""


class IllegalLifeCycleError(GcmError):
    """An action that the component's state does not allow."""


class InstantiationError(GcmError):
    """A component could not be instantiated."""


class CopyError(GcmError):
    """An argument or result of an active object cannot be copied; the cause tells why."""


class DispatchError(GcmError):
    """A multicast call whose arguments cannot be distributed over the bound servers."""


class MulticastError(DispatchError):
    """Some servers of a multicast call failed.

    `failures` pairs the path of each failed server with its exception, `results` the path of each
    other one with its result, both in the order of the calls.
    """

    def __init__(
        self,
        what: str,
        *,
        failures: Sequence[tuple[str, BaseException]],
        results: Sequence[tuple[str, Any]],
        component: str = "",
        interface: str = "",
        cure: str = "",
    ) -> None:
        super().__init__(what, component=component, interface=interface, cure=cure)
        self.failures = tuple(failures)
        self.results = tuple(results)


class CircularCallError(GcmError):
    """A call that would wait for itself: active objects wait for each other in a cycle."""


class GathercastTimeoutError(GcmError):
    """A gathercast round in which not all clients called in time."""


class GathercastMemberError(GcmError):
    """A gathercast round that one of its clients left before it had called."""


class AdlError(GcmError):
    """A document with errors; `diagnostics` holds all of them."""

    def __init__(self, what: str, diagnostics: Sequence[Any] = (), *, cure: str = "") -> None:
        super().__init__(what, cure=cure)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        """Return the summary and then each diagnostic on its own line."""
        return "\n".join([super().__str__(), *(f"  {found}" for found in self.diagnostics)])
