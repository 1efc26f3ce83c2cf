"""One start of a component and everything inside it, by one thread.

The start hooks of every part run before it accepts calls, and those of servers before those of
their clients. In a cycle of bindings a part may be called before its turn: then its turn is now.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gcm.components.controller import Controller
from gcm.errors import GcmError, IllegalLifeCycleError
from gcm.interfaces.call_chain import current, new_number, waiting_for
from gcm.membranes.lifecycle.life import Turn, life_of
from gcm.membranes.lifecycle.states import State
from gcm.membranes.tree import inside_out, servers_first

if TYPE_CHECKING:
    from gcm.components.model import Component


class StartTurn(Turn):
    """Components that start together; `members` are its parts, innermost first.

    If others of them are in other processes, all that is done for the start has the same `number`
    in its chain, and whichever thread does it is one of the turn.
    """

    __slots__ = ("_begun", "_failed", "_members", "_told", "number")

    def __init__(self, members: Sequence[Component], number: str = "") -> None:
        super().__init__()
        self._members = members
        self.number = number or new_number()
        self._told: set[Component] = set()
        self._begun: list[Controller] = []
        self._failed: tuple[Component, BaseException] | None = None

    def is_mine(self) -> bool:
        """Return whether the calling thread does what it does for this start."""
        chain = waiting_for(current())
        return super().is_mine() or any(one.number == self.number for one in chain)

    def run(self) -> None:
        """Run hooks and open everything, the outermost component last.

        Raises:
            IllegalLifeCycleError: a `started` hook failed; everything is stopped again.
        """
        try:
            for client in (client for part in self._members for client in part.bindables):
                client.settle()
            for part in self._members[:-1]:
                if part.children:  # calls inside pass it; what they reach has a gate of its own
                    life_of(part).open()
            for part in servers_first(self._members):
                self.bring_up(part)
            if self._failed is not None:  # and the hook that had called it let it pass
                raise self._failed[1]
            for part in self._members:
                life_of(part).arrive()
        except BaseException as error:
            self._take_back(error)
            self._raise(error)
        finally:
            self.end(self._members)

    def bring_up(self, part: Component) -> None:
        """Run the start hooks of `part` and accept calls, unless that was begun already."""
        if part in self._told:
            return
        self._told.add(part)
        for controller in part.membrane.having("started"):
            try:
                controller.started()
            except BaseException as error:
                if self._failed is None:
                    self._failed = part, error
                raise
            self._begun.append(controller)
        life_of(part).open()

    def call_off(self, error: BaseException) -> None:
        """Stop again those that were told because somebody called them: the start has failed."""
        try:
            self._take_back(error)
        finally:
            self.end(self._members)

    def _raise(self, error: BaseException) -> None:
        if isinstance(error, GcmError) or not isinstance(error, Exception):
            raise error
        raise IllegalLifeCycleError(
            f"the start failed: {type(error).__name__}: {error}",
            component=(self._failed[0] if self._failed else self._members[-1]).path,
            state=State.STOPPED,
            cure="Nothing was left running; fix the cause above and start again",
        ) from error

    def _take_back(self, error: BaseException) -> None:
        """Close what is open already, and run the stop hooks of parts that had begun."""
        opened = frozenset(part for part in self._members if part.membrane.admits_calls)
        failures: list[Exception] = []
        for part in opened:
            life_of(part).close(opened)
        try:
            life_of(self._members[-1]).drain(opened)
        except IllegalLifeCycleError as late:
            failures.append(late)
        for part in self._members:
            life_of(part).settle()
        told = [one for one in reversed(self._begun) if "stopped" in one.hooks]
        failures += tell(told, "stopped")
        for failure in failures:
            error.add_note(f"While the others were stopped again: {failure}")


def await_turn(component: Component, deadline: float) -> None:
    """Wait until no other thread starts `component` or a part of it, or runs their stop hooks.

    Raises:
        IllegalLifeCycleError: the other thread takes longer than until `deadline`.
    """
    life = life_of(component)
    for part in inside_out(component):
        turn = life_of(part).turn
        if turn is None or turn.is_mine() or part.state == State.STOPPING:
            continue
        if not turn.wait(max(0.0, deadline - time.monotonic())):
            raise IllegalLifeCycleError(
                f"another thread starts or stops {part.path}, and is not done after "
                f"{life.start_timeout} s",
                component=component.path,
                state=component.state,
                cure="Look for what `on_start` or `on_stop` waits for, or raise `start_timeout` of "
                "the lifecycle controller",
            )


def hooked(parts: Iterable[Component], hook: str) -> list[Controller]:
    """Return the controllers of `parts` that have `hook`, in their order."""
    return [controller for part in parts for controller in part.membrane.having(hook)]


def tell(controllers: Iterable[Controller], hook: str) -> list[Exception]:
    """Run a hook of all `controllers`, even if some raise, and return the failures."""
    failures: list[Exception] = []
    for controller in controllers:
        try:
            getattr(controller, hook)()
        except Exception as error:  # all others must still be called
            failures.append(error)
    return failures


def raise_failures(failures: Sequence[Exception], what: str) -> None:
    """Raise a single failure as it is, several as a group."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"several components failed while they {what}", failures)
