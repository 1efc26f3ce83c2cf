"""Codes as components: wrappers with the interfaces `control` and `messages`."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from gcm import (
    Component,
    ComponentType,
    Composite,
    Future,
    InterfaceType,
    Invocation,
    Wrapper,
    composite,
)
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import PRIMITIVE
from runtime.coupling.control import CodeControl, CodeMessages
from runtime.coupling.deployed_codes import Codes
from runtime.coupling.mailbox import Message
from runtime.hosting.workers import Workers

CODES = "codes"
CONTROL, MESSAGES = "control", "messages"
CODE_TYPE = ComponentType(
    (InterfaceType(CONTROL, CodeControl), InterfaceType(MESSAGES, CodeMessages))
)


class WrappedCode:
    """The wrapped object of a code's component: the code itself, on the clusters where it runs.

    Calls may block, so each runs in a thread of its own. The life cycle of the component says
    whether the code can be reached, not whether it runs; that is what `control` is for.
    """

    def __init__(self, codes: Codes, name: str, workers: Workers) -> None:
        self._workers = workers
        self._codes = codes
        self._name = name
        self._messages = _Messages(codes, name)

    def call(self, invocation: Invocation) -> Future[Any]:
        """Make a call in a new thread, and return the future of its result."""
        future: Future[Any] = Future(invocation)
        future.set_running_or_notify_cancel()
        if invocation.interface == CONTROL:
            operation = partial(getattr(self._codes, invocation.operation), self._name)
        else:
            operation = getattr(self._messages, invocation.operation)

        def work() -> None:
            try:
                result = operation(*invocation.args, **invocation.kwargs)
            except Exception as error:  # the caller gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        if not self._workers.run(work):
            work()  # the machine has ended, so there is nothing to wait for
        return future

    def on_start(self) -> None:
        """Do nothing: the code is started with `control`."""

    def on_stop(self) -> None:
        """Do nothing: the code is stopped with `control`."""

    def on_terminate(self) -> None:
        """Do nothing: the machine ends the code."""


class CodeComponent(Wrapper):
    """A code as a component.

    >>> ocean = machine.code("ocean")                       # doctest: +SKIP
    >>> ocean.messages.send(288.0, rank=0, tag=1)           # doctest: +SKIP
    >>> ocean.control.wait()                                # doctest: +SKIP
    {0: 0, 1: 0}
    """

    __slots__ = ()

    @property
    def control(self) -> CodeControl:
        """The stub of its interface `control`."""
        return cast(CodeControl, self.server(CONTROL).stub)

    @property
    def messages(self) -> CodeMessages:
        """The stub of its interface `messages`."""
        return cast(CodeMessages, self.server(MESSAGES).stub)


def codes_component(codes: Codes, workers: Workers) -> Composite:
    """Return the composite `codes`, started, with one component for each code."""
    whole = composite(CODES)
    content = whole.controller(ContentController)
    for name in codes.names:
        part = CodeComponent(name, CODE_TYPE, PRIMITIVE, WrappedCode(codes, name, workers))
        part.attach()
        content.add(part)
    whole.start()
    return whole


def code_of(machine: Component, name: str) -> CodeComponent:
    """Return the component of a code in the assembly of a machine."""
    found = machine.find(f"{CODES}/{name}")
    assert isinstance(found, CodeComponent)
    return found


class _Messages:
    def __init__(self, codes: Codes, name: str) -> None:
        self._codes = codes
        self._name = name

    def send(self, value: Any, rank: int = 0, tag: int = 0, timeout: float | None = None) -> None:
        self._codes.registry.driver.send(value, self._name, rank, tag, timeout)

    def recv(self, *args: Any, **kwargs: Any) -> Any:
        return self.receive(*args, **kwargs).value

    def receive(self, *args: Any, **kwargs: Any) -> Message:
        return self._codes.registry.driver.receive(self._name, *args, **kwargs)
